package import NIOPosix
public import RealtimeNetworking

/// The options and limits of a WebSocket client.
public struct WebSocketOptions: Sendable {
    /// The time limit for an attempt to connect: name resolution, TCP, TLS and the upgrade together. Default: 15
    /// seconds.
    public var connectTimeout = Duration.seconds(15)
    /// The time in which the server must answer a close frame. Default: 2 seconds.
    public var closeTimeout = Duration.seconds(2)
    /// The maximum size of a message with all its fragments, in bytes. Default: 16 MiB.
    public var maximumMessageSize = 16 << 20
    /// The maximum number of bytes of messages that wait for your code. If more bytes or more than 4,096 messages wait,
    /// the client stops reading from the socket. It continues when at most half of the limit waits. Default: 1 MiB.
    public var receiveBufferSize = 1 << 20
    /// The maximum number of unsent bytes, which wait because the server reads slowly. While more bytes wait, further calls
    /// of `send` wait too. Default: 16 MiB.
    public var sendBufferSize = 16 << 20
    /// The time in which the server must take some of the unsent bytes while calls of `send` wait. If it takes nothing, the
    /// client closes the connection after one to two times this time, and all these calls throw
    /// ``WebSocketError/Code/sendBufferFull``. Default: 30 seconds.
    public var sendTimeout = Duration.seconds(30)
    /// The certificates that the client trusts, and the client certificate. Default: the system's trusted certificates.
    public var tls = TLSOptions()
    /// The proxy that connections go through. Default: the proxy that the environment names.
    public var proxy = HTTPProxy.environment
    #if Compression
        /// The compression that the client offers to the server; `nil` for none. The trait `Compression` of the package adds
        /// this option. Default: none.
        public var compression: WebSocketCompression?
    #endif
    /// The resolver of host names. Default: the system.
    package var resolver: (any Resolver & Sendable)?

    /// Creates options with their defaults.
    public init() {}
}

extension WebSocketOptions {
    /// Makes the value of the header field `Sec-WebSocket-Extensions`; nil if the client offers no extension.
    func extensionOffer() throws(WebSocketError) -> String? {
        #if Compression
            return try compression?.offer()
        #else
            return nil
        #endif
    }
}
