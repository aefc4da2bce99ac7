import RealtimeNetworking

/// The options of a connection.
public struct HttpConnectionOptions: Sendable {
    /// The handler that writes the log. Default: `nil`, which means the handler of the builder.
    public var logHandler: (any LogHandler)?
    /// The lowest level of the log. If the builder also sets a level, the builder's level applies. Default: `nil`.
    public var logLevel: LogLevel?
    /// The closure that returns the bearer token, or `nil` for no token. The client calls the closure for each
    /// negotiation, or for each attempt without a negotiation. The client calls the closure again if the server answers
    /// with 401, and for each refresh: see ``HubConnection/refreshAuthentication()``. If the closure throws, connecting fails
    /// with ``SignalRClientError/Code/accessTokenFailed``. Default: `nil`.
    public var accessTokenFactory: (@Sendable () async throws -> String?)?
    /// Whether the client also sends the token in the query, as `access_token`. Many servers log queries, so set the
    /// option only for servers that do not read the header. Default: `false`.
    public var sendsAccessTokenInQuery = false
    /// The client for HTTP requests. A WebSocket, and the response with server-sent events, do not use this client. If the
    /// task is cancelled, the call should throw `CancellationError`. With FoundationNetworking (Linux), do not cancel a task
    /// of `URLSession` from a cancellation handler, because this can stop the whole process.
    /// Default: `nil`, which means the package's own client.
    public var httpClient: (any HttpClient)?
    /// The transports that the client may use. Default: `nil`, which means all.
    public var transport: HttpTransportType?
    /// Whether the client connects by WebSocket without a negotiation. If `true`, ``transport`` must be `.webSockets`.
    /// Without a negotiation, there is no connection id, and stateful reconnect, refreshed tokens and Azure SignalR Service
    /// do not work. Default: `false`.
    public var skipNegotiation = false
    /// The header fields of all requests. The app's fields replace the client's own fields. If the server's answer to a
    /// negotiation leads to another origin, the client sends only `Accept`, `Cache-Control`, `Last-Event-ID` and the
    /// fields in ``headersForOtherOrigins`` there. Default: `nil`.
    public var headers: [String: String]?
    /// The names of the fields in ``headers`` that the client also sends to another origin to which the server redirects
    /// a negotiation. Any server that the first server names then gets these fields, so do not list fields with secrets.
    /// The client never sends `Host` to another origin. Default: none.
    public var headersForOtherOrigins: Set<String> = []
    /// Whether the server's answer to a negotiation may lead from `https` to `http`. Default: `false`.
    public var allowsInsecureRedirects = false
    /// The time for each HTTP request, in seconds. For polls, the minimum is 120 seconds. Default: `nil`, which means
    /// 100.
    public var timeout: TimeInterval?
    /// Whether the log shows the content of messages, at the level `debug`. Default: `nil`, which means no.
    public var logMessageContent: Bool?
    /// The certificates that the client trusts, and the client certificate. Default: the system's trusted certificates.
    ///
    /// The client checks ``TLSOptions/pins`` for all connections, except those of your own ``httpClient``.
    public var tls = TLSOptions()
    /// The proxy that connections go through. Default: the proxy that the environment names.
    public var proxy = HTTPProxy.environment
    /// The maximum size of a message from the server, in bytes. If a message is larger, the client closes the
    /// connection with ``SignalRClientError/Code/messageTooBig``. A transport can deliver several messages together, for
    /// example in the answer to a poll. Together, they can exceed this size by ``receiveBufferSize``. Default: 16 MiB.
    public var maximumMessageSize = 16 << 20
    /// The maximum number of bytes of calls whose handlers have not returned, or of items that wait for the consumer of
    /// one stream. Above this number, the client closes the connection or the stream with
    /// ``SignalRClientError/Code/receiveBufferFull``. The client counts 256 additional bytes for each call, and 64 for
    /// each argument and item. The client does not make the server wait, because this would also delay the answers to
    /// your code's calls. Default: 64 MiB.
    public var receiveBufferSize = 64 << 20

    /// The client asks the sequence of an upload for the next element while the transport has not taken fewer bytes of its
    /// items than this number. An item counts 64 additional bytes. Default: 64 KiB.
    public var uploadBufferSize = 65_536

    /// The time limit for a connection, for tests; `nil` for the default of a WebSocket or of an HTTP connection.
    package var connectTimeout: Duration?

    /// The maximum number of bytes that a transport delivers at once: a WebSocket message, an event, or the answer to a
    /// request. Each can contain several messages.
    var maximumDeliverySize: Int {
        let (sum, isTooLarge) = maximumMessageSize.addingReportingOverflow(receiveBufferSize)
        return isTooLarge ? .max : sum
    }

    /// Creates options.
    public init() {}

    func makeDialer() -> Dialer { Dialer(tlsContexts: TLSContextSource(tls), proxies: ProxyRules(proxy)) }
}

extension HttpConnectionOptions: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The allowed transports. Header fields and the proxy's password may be secret.
    public var description: String {
        "HttpConnectionOptions(transport: \(transport.map { "\($0)" } ?? "all"), \(headers?.count ?? 0) headers)"
    }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
