import PusherEncryption

/// The app's options after their validation, in the form that the state machines need.
package struct CoreConfiguration: Hashable, Sendable {
    /// The endpoint, or an error if the options are invalid.
    package var endpoint: Result<TransportRequest, PusherClientError>
    /// Whether WebSocket is the only transport that the options allow. Error messages depend on this value.
    package var hasWebSocketOnly = true
    package var autoReconnect = true
    package var timeouts = PusherTimeouts()
    /// The maximum activity timeout. If the server announces no timeout, the client uses this value.
    package var activityTimeout: Duration = .seconds(120)
    /// The maximum number of attempts after a loss; nil for no limit.
    package var maximumRetries: Int?
    /// The longest wait before an attempt, even if the policy returns more; nil for no limit.
    package var maximumRetryDelay: Duration? = .seconds(30)
    /// The maximum number of simultaneous authorization requests for channels.
    package var authorizationsAtOnce = 16
    /// The maximum number of tries for an authorization on one connection; nil for no limit.
    package var authorizationTries: Int?
    /// The maximum number of channels.
    package var channels = 100_000
    /// The limits for the members of a channel, and for the watched users.
    package var members = PresenceRoster.Limit()
    /// The maximum number of events of an encrypted channel that wait for its key.
    package var heldEncryptedEvents = 1_000
    /// The maximum size of an encrypted channel's waiting events together, in bytes.
    package var heldEncryptedSize = 8 * 1_024 * 1_024
    /// The maximum number of client events of a channel that wait to be sent.
    package var queuedClientEvents = 100
    /// The maximum number of client events per second; nil for no limit.
    package var clientEventsPerSecond: Int? = 10

    /// Who opens the boxes of encrypted events.
    package var boxOpener = BoxOpener.ofThisBuild

    package init(endpoint: Result<TransportRequest, PusherClientError>) {
        self.endpoint = endpoint
    }
}

/// The code that opens the boxes of encrypted events.
package enum BoxOpener: Hashable, Sendable {
    /// The library of this build.
    case library
    /// The app's code. The machine asks for each event.
    case app
    /// Nobody, so no encrypted channel can be subscribed.
    case nobody

    package static var ofThisBuild: Self { SecretBox.isAvailable ? .library : .nobody }
}
