/// The options that the machine needs, checked and in its own units.
package struct CoreConfiguration: Hashable, Sendable {
    /// The endpoint; an error if the options cannot be used.
    package var endpoint: Result<TransportRequest, PusherClientError>
    /// Whether no other transport than a WebSocket is allowed. Error texts go by it.
    package var hasWebSocketOnly = true
    package var autoReconnect = true
    package var timeouts = PusherTimeouts()
    /// The longest activity timeout, which is also the default if the server names none.
    package var activityTimeout: Duration = .seconds(120)
    /// The most attempts after a loss; nil for no end.
    package var maximumRetries: Int?
    /// The longest wait before an attempt, whatever the policy says; nil for no bound.
    package var maximumRetryDelay: Duration? = .seconds(30)
    /// How many authorizations may be asked for at once.
    package var authorizationsAtOnce = 16
    /// How often an authorization is asked for before it has failed.
    package var authorizationTries = 3
    /// How many channels there may be.
    package var channels = 100_000
    /// The limits of a channel's list of members, and of the watched users.
    package var members = PresenceRoster.Limit()
    /// How many events of an encrypted channel may wait for its key.
    package var heldEncryptedEvents = 1_000
    /// How many bytes these may have.
    package var heldEncryptedSize = 8 * 1_024 * 1_024
    /// How many client events of a channel may wait to be sent.
    package var queuedClientEvents = 100
    /// The most client events that go out in a second; nil for no bound.
    package var clientEventsPerSecond: Int? = 10

    package init(endpoint: Result<TransportRequest, PusherClientError>) {
        self.endpoint = endpoint
    }
}
