import NIOCore
import NIOHTTP1
import NIOPosix
import RealtimeNetworking

/// The life of one socket, from the name lookup to its end. Everything in it happens on its event loop.
///
/// It is the last handler of the channel's pipeline, once there is a channel.
package final class WebSocketSession {
    enum Stage {
        /// The TLS context is made, the name looked up, the TCP connection made.
        case connecting
        /// The proxy was asked to connect to the server.
        case tunneling
        /// The TLS handshake is under way.
        case securing
        /// The upgrade has been sent.
        case upgrading
        case open
        /// We have asked for the end; the peer's close frame is awaited.
        case closing
        /// The end has been reported; only the peer's end of the TCP connection is awaited.
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
    /// Nil once `.closed` was given, or nothing may be given any more.
    var receive: (@Sendable (WebSocketEvent) -> Void)?
    /// Nil if none was begun, or the attempt has come further.
    var hostLookup: (any Resolver)?
    /// The channels that may become the connection; more than one if the host has several addresses.
    var candidates: [any Channel] = []
    var context: ChannelHandlerContext?
    var upgrade: UpgradeResponseReader?
    var reader: WebSocketFrameReader
    var isReadingFrames = false
    /// Bytes that came while frames were read. NIO empties the socket if a write fails, also in the middle of a read.
    var unreadBytes: [ByteBuffer] = []
    /// The error that NIO reported before the channel's end.
    var failure: (any Error)?
    /// Ends a closing handshake that the peer does not.
    var closingTimer: Scheduled<Void>?
    /// The payload of the latest ping, if the peer does not read what we send.
    var unansweredPing: ByteBuffer?
    var hasUnflushedPong = false
    /// The bytes that waited when the first of what is not flushed yet was sent; nil if all is flushed.
    private var backlog: Int?
    /// The bytes that waited after what was last sent on a backlog within the limit: however many these are, they are
    /// what there was to say at once.
    private var burst = 0
    /// Whether bytes have come, since the last end of a read, that completed nothing.
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

    /// A server that sends and does not read must not make us keep all our answers to it. What the system does not take
    /// of one burst says nothing about the server: judged is what is added to a backlog that is beyond the limit.
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

    /// Stops or starts taking bytes from the socket.
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
