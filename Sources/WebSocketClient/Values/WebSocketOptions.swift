package import NIOPosix
public import RealtimeNetworking

/// The options and limits of a WebSocket client.
public struct WebSocketOptions: Sendable {
    /// The time limit for an attempt to connect: name resolution, TCP, TLS and the upgrade together. Default: 15
    /// seconds.
    public var connectTimeout: Duration
    /// The time in which the server must answer a close frame. Default: 2 seconds.
    public var closeTimeout: Duration
    /// The maximum size of a message with all its fragments, in bytes. Default: 16 MiB.
    public var maximumMessageSize: Int
    /// The maximum number of bytes of messages that wait for your code. If more bytes or more than 4,096 messages wait,
    /// the client stops reading from the socket. It continues when at most half of the limit waits. Default: 1 MiB.
    public var receiveBufferSize: Int
    /// The maximum number of unsent bytes, which wait because the server does not read. If more bytes wait, the client
    /// closes the connection with ``WebSocketError/Code/sendBufferFull``. Default: 16 MiB.
    public var maximumSendBufferSize: Int
    /// The certificates that the client trusts, and the client certificate. Default: the system's trusted certificates.
    public var tls: TLSOptions
    /// The proxy that connections go through. Default: the proxy that the environment names.
    public var proxy: HTTPProxy
    /// The resolver of host names. Default: the system.
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
