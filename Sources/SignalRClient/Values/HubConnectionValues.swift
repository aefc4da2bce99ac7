/// The state of a connection.
public enum HubConnectionState: Sendable {
    /// There is no connection and no attempt.
    case Stopped
    /// `start()` is running.
    case Connecting
    /// Calls are possible.
    case Connected
    /// The connection was lost, and the client tries to reconnect.
    case Reconnecting
}

/// The status of a connection, with the reason for each loss or failure. See ``HubConnection/statuses``.
public enum HubConnectionStatus: Sendable {
    /// There is no connection. The error is `nil` if the connection never started, or ended without an error.
    case stopped((any Error)?)
    /// An attempt is under way, for the first connection or after a loss. The value is the attempt's number since
    /// `start()`. The first attempt has the number 1.
    case connecting(attempt: Int)
    /// The client waits before an attempt. The values are the end of the wait, the attempt's number, and the reason for
    /// the loss or the last failure, which is `nil` if the server closed the connection without an error.
    case waiting(until: ContinuousClock.Instant, attempt: Int, reason: (any Error)?)
    /// Calls are possible. The server's methods use the id to address this client. The id is `nil` without a
    /// negotiation.
    case connected(connectionID: String?, transport: HttpTransportType)
    /// The transport was lost, and the client tries to resume the same connection. The client keeps the messages of
    /// calls, and sends them when it has resumed the connection.
    case resuming(connectionID: String?, transport: HttpTransportType)
    /// The same connection continues over a new transport.
    case resumed(connectionID: String?, transport: HttpTransportType)

    /// Returns the time until the next attempt. The time is zero if the attempt is due, and `nil` if the client does not
    /// wait.
    ///
    /// - Parameter now: The time from which to count. Default: now.
    public func remaining(at now: ContinuousClock.Instant = .now) -> Duration? {
        guard case .waiting(let until, _, _) = self else { return nil }
        return max(until - now, .zero)
    }
}

/// The encoding of messages.
public enum HubProtocolType: Sendable {
    /// The JSON encoding.
    case json
    /// The MessagePack encoding. Server-sent events cannot carry MessagePack.
    case messagePack
}

/// The kind of data that a transport carries.
public enum TransferFormat: Int, Codable, Sendable {
    /// Text.
    case text = 1
    /// Bytes.
    case binary = 2
}

/// The types of messages, with their numbers in the protocol.
public enum MessageType: Int, Codable, Sendable {
    /// A call of a method.
    case invocation = 1
    /// One item of a stream.
    case streamItem = 2
    /// The end of a call or stream.
    case completion = 3
    /// A call of a method that answers with a stream.
    case streamInvocation = 4
    /// The caller cancels a call.
    case cancelInvocation = 5
    /// A ping.
    case ping = 6
    /// The sender is about to close the connection.
    case close = 7
    /// The sender has received the messages up to a number.
    case ack = 8
    /// The number of the next message.
    case sequence = 9
}

/// The options for resuming a connection after the loss of its transport. See
/// ``HubConnectionBuilder/withStatefulReconnect(options:)``.
public struct StatefulReconnectOptions: Sendable {
    /// The maximum number of bytes of the messages that the server has not acknowledged. At this number, further
    /// messages wait. If more than 16 MiB wait, the connection is lost. Values above 16 MiB have the effect of 16 MiB.
    /// Default: `nil`, which means 100,000.
    public var bufferSize: Int?

    /// Creates options.
    public init() {}
}

/// The options for tokens that expire. See ``HubConnectionBuilder/withAuthenticationRefresh(options:)``.
public struct AuthenticationRefreshOptions: Hashable, Sendable {
    /// Whether the client refreshes the authentication before it expires. If `false`, only
    /// ``HubConnection/refreshAuthentication()`` does. Default: `true`.
    public var isAutomatic = true
    /// The time before the expiry at which the client refreshes the authentication. If the lifetime is shorter than twice
    /// this time, the client waits for half of the lifetime. Default: 5 minutes.
    public var refreshBeforeExpiration = Duration.seconds(300)

    /// Creates options.
    public init() {}
}

/// The rule that converts names of Swift properties to keys of MessagePack maps. The rule does not change the keys of
/// dictionaries.
public enum MessagePackKeys: Sendable {
    /// The names do not change.
    case asIs
    /// `userName` becomes `UserName`, like the properties of .NET by default.
    case pascalCase
    /// The first function returns the key for a name. The second function returns the name for a key.
    case custom(key: @Sendable (String) -> String, name: @Sendable (String) -> String)
}
