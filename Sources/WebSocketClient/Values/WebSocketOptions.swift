package import NIOPosix
public import RealtimeNetworking

/// How a WebSocket client connects, and its limits.
public struct WebSocketOptions: Sendable {
    /// The time for an attempt to connect: name resolution, TCP, TLS and the upgrade together. Default: 15 seconds.
    public var connectTimeout: Duration
    /// How long the server may take to answer a close frame. Default: 2 seconds.
    public var closeTimeout: Duration
    /// The largest message that the client accepts, in bytes, over all its fragments. Default: 16 MiB.
    public var maximumMessageSize: Int
    /// The most bytes of messages that wait for your code to consume them. If more arrive, the client stops reading
    /// from the socket until half of them are taken. Default: 1 MiB.
    public var receiveBufferSize: Int
    /// The most bytes that wait for a server that does not read. If more wait, the client ends the connection with
    /// ``WebSocketError/Code/sendBufferFull``. Default: 16 MiB.
    public var maximumSendBufferSize: Int
    /// The certificates that the client trusts, and the one that it presents. Default: the system's trusted
    /// certificates.
    public var tls: TLSOptions
    /// The proxy that connections go through. Default: the proxy that the environment names.
    public var proxy: HTTPProxy
    /// Finds a host's addresses. Default: the system.
    package var resolver: (any Resolver & Sendable)?

    /// Creates options.
    public init(
        connectTimeout: Duration = .seconds(15),
        closeTimeout: Duration = .seconds(2),
        maximumMessageSize: Int = 16 << 20,
        receiveBufferSize: Int = 1 << 20,
        maximumSendBufferSize: Int = 16 << 20,
        tls: TLSOptions = TLSOptions(),
        proxy: HTTPProxy = .environment
    ) {
        self.connectTimeout = connectTimeout
        self.closeTimeout = closeTimeout
        self.maximumMessageSize = maximumMessageSize
        self.receiveBufferSize = receiveBufferSize
        self.maximumSendBufferSize = maximumSendBufferSize
        self.tls = tls
        self.proxy = proxy
    }
}
