/// The options of a connection.
public struct HttpConnectionOptions: Sendable {
    /// The handler that writes the log. Default: `nil`, which means the handler of the builder.
    public var logHandler: (any LogHandler)?
    /// The lowest level that is logged. Default: `nil`, which means the builder's.
    public var logLevel: LogLevel?
    /// Returns the bearer token, or `nil` for none. The client asks it whenever it negotiates, so also whenever it
    /// reconnects, and again if the server answers with 401. Default: `nil`.
    public var accessTokenFactory: (@Sendable () async throws -> String?)?
    /// Whether the token is also sent in the query, as `access_token`. Queries are often logged by servers, so use it only
    /// for servers that do not read the header. Default: `false`.
    public var sendsAccessTokenInQuery = false
    /// Makes the HTTP requests. Default: `nil`, which means the package's own client. WebSockets and
    /// the stream of server-sent events do not use it.
    public var httpClient: (any HttpClient)?
    /// The transports that the client may use. Default: `nil`, which means all.
    public var transport: HttpTransportType?
    /// Whether to connect by WebSocket without a negotiation. In that case, ``transport`` must be `.webSockets`. There
    /// is then no connection id, and Azure SignalR Service cannot be used. Default: `false`.
    public var skipNegotiation = false
    /// Header fields of all requests. They replace the client's own. Default: `nil`.
    public var headers: [String: String]?
    /// The time for each HTTP request, in seconds. Polls have 120 seconds at least. Default: `nil`, which means 100.
    public var timeout: TimeInterval?
    /// Whether the log shows the content of messages, at the level `debug`. Default: `nil`, which means no.
    public var logMessageContent: Bool?
    /// The certificates that the client trusts, and the one that it presents. Default: the system's trusted
    /// certificates.
    public var tls = TLSOptions()
    /// The proxy that connections go through. Default: the proxy that the environment names.
    public var proxy = HTTPProxy.environment
    /// The largest message of the server, in bytes. A larger one ends the connection. Default: 16 MiB.
    public var maximumMessageSize = 16 << 20
    /// The most bytes that may wait for a handler, or for the consumer of one stream. If more arrive, the client ends
    /// the connection or the stream with ``SignalRClientError/Code/receiveBufferFull``. It cannot slow the server down
    /// without also delaying answers that your code may wait for. Default: 64 MiB.
    public var receiveBufferSize = 64 << 20

    /// Creates options.
    public init() {}
}
