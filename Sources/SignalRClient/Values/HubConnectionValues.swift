/// The state of a connection.
public enum HubConnectionState: Sendable {
    /// There is no connection and no attempt.
    case Stopped
    /// `start()` is under way.
    case Connecting
    /// Calls are possible.
    case Connected
    /// The connection was lost, and the client tries to reconnect.
    case Reconnecting
}

/// The state of a connection, with the reasons. See ``HubConnection/states``.
public enum HubConnectionStatus: Sendable {
    /// There is no connection: `nil` if it was never started, or ended without an error.
    case stopped((any Error)?)
    /// `start()` is under way. The number of the attempt, from 1, its start, and why the one before it failed.
    case connecting(attempt: Int, at: Date, reason: (any Error)?)
    /// Calls are possible. The id is the one that other clients may know, or `nil` without a negotiation.
    case connected(connectionID: String?, transport: HttpTransportType)
    /// The connection was lost. The number of the next attempt, its start, and why it is needed.
    case reconnecting(attempt: Int, at: Date, reason: (any Error)?)
    /// The transport was lost, and the client tries to continue the same connection. Calls wait.
    case resuming(connectionID: String?, transport: HttpTransportType)
    /// The same connection continues over a new transport.
    case resumed(connectionID: String?, transport: HttpTransportType)
}

/// How messages are encoded.
public enum HubProtocolType: Sendable {
    /// As JSON.
    case json
    /// As MessagePack. Server-sent events cannot carry it.
    case messagePack
}

/// The kind of frames that a transport carries.
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
    /// Messages have arrived.
    case ack = 8
    /// The number of the next message.
    case sequence = 9
}

/// How a connection is resumed after the loss of its transport. See
/// ``HubConnectionBuilder/withStatefulReconnect(options:)``.
public struct StatefulReconnectOptions: Sendable {
    /// The most bytes of messages that may wait for the server's acknowledgement. If there are more, calls wait.
    /// Default: `nil`, which means 100,000.
    public var bufferSize: Int?

    /// Creates options.
    public init() {}
}

/// How names of Swift's properties become the keys of MessagePack's maps. The keys of dictionaries do not change.
public enum MessagePackKeys: Sendable {
    /// The names do not change.
    case asIs
    /// `userName` becomes `UserName`, as .NET names its properties by default.
    case pascalCase
    /// The key for a name, and the name for a key.
    case custom(key: @Sendable (String) -> String, name: @Sendable (String) -> String)
}
