public import SignalRCore

/// How a ``SignalRTestServer`` behaves without faults.
public struct TestHubOptions: Sendable {
    /// The transports that the server offers, in its order of preference. Default: WebSockets, server-sent events, long
    /// polling.
    public var transports: [HttpTransportType] = [.webSockets, .serverSentEvents, .longPolling]
    /// After how many seconds without a message the server sends a ping. Default: 15.
    public var keepAliveInterval: Double = 15
    /// How long the server keeps a poll open while it has no messages, in seconds. Default: 90.
    public var pollTimeout: Double = 90
    /// Whether connections can be resumed. Default: `true`.
    public var allowsStatefulReconnect = true
    /// How long the server keeps a connection whose WebSocket was lost, in seconds. Default: 15.
    public var disconnectTimeout: Double = 15
    /// The bearer token that the server requires in all requests. Default: `nil`, which means none.
    public var requiredToken: String?

    /// Creates options.
    public init() {}
}

/// A request that a client makes.
public enum TestHubStep: Hashable, Sendable, CaseIterable {
    /// The negotiation.
    case negotiate
    /// The upgrade to a WebSocket.
    case webSocket
    /// The request for server-sent events.
    case serverSentEvents
    /// A poll.
    case poll
    /// A request with messages of the client.
    case post
    /// The end of a connection.
    case delete
}

/// A fault of the server.
public enum TestHubFault: Hashable, Sendable {
    /// It answers with this HTTP status.
    case status(Int)
    /// It answers with status 200 and this body.
    case body(String)
    /// It does not answer.
    case silence
}

/// How the server answers the handshake.
public enum TestHubHandshake: Hashable, Sendable {
    /// The server accepts a correct handshake.
    case normal
    /// The server does not answer.
    case silence
    /// The server refuses the handshake with this reason.
    case refuse(String)
    /// The server sends these bytes as its answer.
    case bytes([UInt8])
}

/// A request that the server has received.
public struct TestHubRequest: Hashable, Sendable {
    /// The method of HTTP.
    public var method: String
    /// The path with the query.
    public var uri: String
    /// The header fields; names are in lower case.
    public var headers: [String: String]
    /// The size of the body, in bytes.
    public var bodySize: Int
}
