/// What the machine needs to know of the options: checked, and in its own units.
package struct CoreConfiguration: Hashable, Sendable {
    /// Where to connect; an error where the options cannot be used.
    package var endpoint: Result<TransportRequest, PusherClientError>
    package var autoReconnect = true
    package var timeouts = PusherClientOptions.Timeouts()
    /// What the activity timeout is at the most, and what it is where the server names none.
    package var activityTimeout: Duration = .seconds(120)
    /// The most attempts after a loss; nil for no end.
    package var maximumRetries: Int?
    /// The longest wait before an attempt, whatever the policy says; nil for no bound.
    package var maximumRetryDelay: Duration? = .seconds(120)

    package init(endpoint: Result<TransportRequest, PusherClientError>) {
        self.endpoint = endpoint
    }
}
