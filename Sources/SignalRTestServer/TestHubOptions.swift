public import SignalRCore

/// The options of a ``SignalRTestServer``.
public struct TestHubOptions: Sendable {
    /// The port of the loopback interface. Default: 0, which means any free port.
    public var port = 0
    /// The transports that the server offers, in its order of preference. Default: WebSockets, server-sent events, long
    /// polling.
    public var transports: [HttpTransportType] = [.webSockets, .serverSentEvents, .longPolling]
    /// The interval, in seconds, at which the server sends pings, even if it has sent other messages. Default: 15.
    public var keepAliveInterval: Double = 15
    /// The time, in seconds, for which the server keeps a poll open if there are no messages. Default: 90.
    public var pollTimeout: Double = 90
    /// Whether clients can resume connections. Default: `true`.
    public var allowsStatefulReconnect = true
    /// The time for which the server keeps a resumable connection after the loss of its WebSocket, in seconds. Default:
    /// 15.
    public var disconnectTimeout: Double = 15
    /// The limit for the bytes that wait for the client of one connection. If more bytes wait when the server sends
    /// another message, the server drops the transport, because the client does not read. The server ends the connection
    /// if more bytes wait for the client's first poll, or for the client's acknowledgements on a connection that can be
    /// resumed. Default: 16 MiB.
    public var maximumQueueSize = 16 << 20
    /// The bearer token that the server requires in all requests. Default: `nil`, which means that requests need no
    /// token.
    public var requiredToken: String?
    /// The time after which the authentication of a connection expires, in seconds. The server tells clients the whole
    /// seconds, and accepts refreshes. At the expiry, it closes the connection with a Close message that allows a reconnect.
    /// Default: `nil`, which means that nothing expires, and that a refresh gets status 404.
    public var tokenLifetime: Double?

    /// Creates options.
    public init() {}
}

/// A kind of request that a client makes.
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
    /// The request that deletes a connection.
    case delete
    /// The request that refreshes the authentication.
    case refresh
}

/// A fault of the server.
public enum TestHubFault: Hashable, Sendable {
    /// The server answers with this HTTP status.
    case status(Int)
    /// The server answers with status 200 and this body.
    case body(String)
    /// The server answers with this HTTP status and this body.
    case answer(Int, String)
    /// The server does not answer.
    case silence
}

/// The server's answer to the handshake.
public enum TestHubHandshake: Hashable, Sendable {
    /// The server accepts a correct handshake.
    case normal
    /// The server does not answer.
    case silence
    /// The server refuses the handshake with this reason.
    case refuse(String)
    /// The server sends these bytes as its answer to the handshake.
    case bytes([UInt8])
}

/// A request that the server has received. Printing a request does not show its query and header fields, which may
/// contain tokens.
public struct TestHubRequest: Hashable, Sendable {
    /// The HTTP method.
    public var method: String
    /// The path with the query.
    public var uri: String
    /// The header fields. The names are in lower case.
    public var headers: [String: String]
    /// The size of the body, in bytes.
    public var bodySize: Int
}

/// A call of a hub method that failed.
public struct TestHubFailure: Hashable, Sendable {
    /// The id of the caller's connection.
    public var connectionID: String
    /// The name of the method.
    public var method: String
    /// The reason. For an error of the method, the text is the error's description, which the caller does not get.
    public var reason: String
}

extension TestHubRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method and the path.
    public var description: String { "\(method) \(uri.prefix { $0 != "?" })" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension TestHubOptions: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The port and the transports, and whether requests need a token.
    public var description: String {
        "TestHubOptions(port: \(port), transports: \(transports), needsToken: \(requiredToken != nil))"
    }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` does not show the token.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
