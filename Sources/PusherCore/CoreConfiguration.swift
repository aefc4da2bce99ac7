/// The options that the machine needs, checked and in its own units.
package struct CoreConfiguration: Hashable, Sendable {
    /// The endpoint, or an error if the options are invalid.
    package var endpoint: Result<TransportRequest, PusherClientError>
    /// Whether WebSocket is the only transport that the options allow. Error texts depend on it.
    package var hasWebSocketOnly = true
    package var autoReconnect = true
    package var timeouts = PusherTimeouts()
    /// The longest activity timeout, which is also the default if the server names none.
    package var activityTimeout: Duration = .seconds(120)
    /// The most attempts after a loss; nil for no limit.
    package var maximumRetries: Int?
    /// The longest wait before an attempt, whatever the policy says; nil for no limit.
    package var maximumRetryDelay: Duration? = .seconds(30)
    /// How many authorization requests may run at once.
    package var authorizationsAtOnce = 16
    /// How often an authorization is tried before it fails.
    package var authorizationTries = 3
    /// The most channels.
    package var channels = 100_000
    /// The limits of a channel's list of members, and of the watched users.
    package var members = PresenceRoster.Limit()
    /// The most events of an encrypted channel that wait for its key.
    package var heldEncryptedEvents = 1_000
    /// The most bytes of these events.
    package var heldEncryptedSize = 8 * 1_024 * 1_024
    /// The most client events of a channel that wait to be sent.
    package var queuedClientEvents = 100
    /// The most client events per second; nil for no limit.
    package var clientEventsPerSecond: Int? = 10

    package init(endpoint: Result<TransportRequest, PusherClientError>) {
        self.endpoint = endpoint
    }
}
