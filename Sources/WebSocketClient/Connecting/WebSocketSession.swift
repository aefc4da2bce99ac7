import NIOCore
import NIOHTTP1
import NIOPosix
import RealtimeNetworking

/// One socket, from the name lookup to its end. Everything in it happens on its event loop.
///
/// It is the last handler of the channel's pipeline, once there is a channel.
package final class WebSocketSession {
    enum Stage {
        /// The TLS context is created, the name looked up, and the TCP connection opened.
        case connecting
        /// The proxy is connecting to the server.
        case tunneling
        /// The TLS handshake is under way.
        case securing
        /// The upgrade has been sent.
        case upgrading
        case open
        /// The client has sent a close frame, and waits for the peer's.
        case closing
        /// The end was reported, and the client waits for the peer to end the TCP connection.
        case lingering
        case ended
    }

    let request: WebSocketRequest
    let connector: WebSocketConnector
    var options: WebSocketOptions { connector.options }
    let eventLoop: any EventLoop

    var stage = Stage.connecting
    /// The phases of the connection.
    var proxy: ProxyServer?
    /// The proxy's answer, if there is one.
    var proxyStatus: HTTPResponseStatus?
    /// Nil after `.closed` was reported, or when no more events may be reported.
    var receive: (@Sendable (WebSocketEvent) -> Void)?
    /// Nil if no lookup has begun, or the attempt has got further.
    var hostLookup: (any Resolver)?
    /// The channels that may become the connection. There are several if the host has several addresses.
    var candidates: [any Channel] = []
    var context: ChannelHandlerContext?
    var upgrade: UpgradeResponseReader?
    var reader: WebSocketFrameReader
    var isReadingFrames = false
    /// Bytes that arrived while frames were read. NIO empties the socket if a write fails, also in the middle of a
    /// read.
    var unreadBytes: [ByteBuffer] = []
    /// The error that NIO reported before the channel's end.
    var failure: (any Error)?
    /// Ends a closing handshake that the peer does not complete.
    var closingTimer: Scheduled<Void>?
    /// The payload of the latest ping, if the peer does not read the client's messages.
    var unansweredPing: ByteBuffer?
    var hasUnflushedPong = false
    /// The number of waiting bytes when the first unflushed bytes were sent; nil if everything is flushed.
    private var backlog: Int?
    /// The number of waiting bytes after the last burst on a backlog within the limit. A single burst may exceed the
    /// limit.
    private var burst = 0
    /// Whether bytes that complete no frame have arrived since the end of the last read.
    var hasReadInPart = false

    init(
        _ request: WebSocketRequest,
        connector: WebSocketConnector,
        eventLoop: any EventLoop,
        receive: @escaping @Sendable (WebSocketEvent) -> Void
    ) {
        self.request = request
        self.connector = connector
        self.eventLoop = eventLoop
        self.receive = receive
        self.reader = WebSocketFrameReader(maximumMessageSize: connector.options.maximumMessageSize)
    }
}

extension WebSocketSession {
    func send(_ promise: EventLoopPromise<Void>?, _ makeFrame: (ByteBufferAllocator) -> ByteBuffer) {
        guard case .open = stage, let context else {
            promise?.fail(ConnectionFailure.notOpen())
            return
        }
        if backlog == nil { backlog = unwrittenBytes(context) }
        let frame = makeFrame(context.channel.allocator)
        guard let promise else {
            context.write(wrapOutboundOut(frame), promise: nil)
            return
        }
        let written = eventLoop.makePromise(of: Void.self)
        written.futureResult.whenComplete { result in
            promise.completeWith(result.mapError { ConnectionFailure.notOpen($0) })
        }
        context.write(wrapOutboundOut(frame), promise: written)
    }

    func flush() {
        guard let context else { return }
        context.flush()
        endIfUnread(context)
    }

    /// Zero if the channel accepts more.
    private func unwrittenBytes(_ context: ChannelHandlerContext) -> Int {
        guard !context.channel.isWritable else { return 0 }
        return (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    }

    /// A server that sends but does not read must not make the client keep all its answers. Bytes of one burst that the
    /// system does not accept say nothing about the server. Only what is added to a backlog beyond the limit counts.
    private func endIfUnread(_ context: ChannelHandlerContext) {
        guard case .open = stage, let backlog else { return }
        self.backlog = nil
        let limit = options.maximumSendBufferSize
        let unwritten = unwrittenBytes(context)
        guard backlog > limit else {
            burst = unwritten
            return
        }
        guard unwritten - burst > limit else { return }
        let error = WebSocketError(
            .sendBufferFull,
            "Send buffer full: the server does not read, and \(unwritten) bytes wait for it. The limit is \(limit)."
        )
        end(WebSocketClosure(code: nil, error: error))
    }

    /// Stops or starts reading from the socket.
    func setReading(_ isReading: Bool) {
        guard case .open = stage, let context else { return }
        try? context.channel.syncOptions?.setOption(.autoRead, value: isReading)
    }

    func writeFrame(_ frame: ByteBuffer) {
        context?.write(wrapOutboundOut(frame), promise: nil)
    }

    func writeCloseFrame(_ code: WebSocketCloseCode, reason: String = "") {
        guard let context else { return }
        writeFrame(WebSocketFrameWriter.closeFrame(code, reason: reason, allocator: context.channel.allocator))
        context.flush()
    }
}
