import NIOCore
import RealtimeNetworking

/// A WebSocket, from the connection attempt to the close, on one event loop.
///
/// The session is the last handler in the pipeline of its channel.
package final class WebSocketSession {
    enum Stage {
        /// The ``dial`` is in progress.
        case connecting
        /// The client has sent the upgrade request.
        case upgrading
        case open
        /// The client has sent a close frame, and is waiting for the peer's close frame.
        case closing
        /// The session has reported the end, and is waiting for the peer to close the TCP connection.
        case lingering
        case ended
    }

    let request: WebSocketRequest
    let connector: WebSocketConnector
    var options: WebSocketOptions { connector.options }
    let eventLoop: any EventLoop

    var stage = Stage.connecting
    /// The receiver of events; nil after `.closed` was reported, or after ``abort()``.
    var receive: (@Sendable (WebSocketEvent) -> Void)?
    /// The attempt to connect; nil before and after the attempt.
    var dial: Dial?
    var context: ChannelHandlerContext?
    var upgrade: UpgradeResponseReader?
    var reader: WebSocketFrameReader
    var writer = WebSocketFrameWriter()
    var isReadingFrames = false
    /// Bytes that arrived while the session read frames. Such bytes arrive if a write fails, because NIO then reads the
    /// remaining data of the socket at once.
    var unreadBytes: [ByteBuffer] = []
    /// The first error that NIO reported before the channel closed; nil if there was none.
    var failure: (any Error)?
    /// The time limit for the closing handshake.
    var closingTimer: Scheduled<Void>?
    /// The payload of the latest ping that the client has not answered, because the peer does not read.
    var unansweredPing: ByteBuffer?
    var hasUnflushedPong = false
    /// The number of unsent bytes before the first write since the last flush; nil if there was no write since then.
    private var backlog: Int?
    /// The number of unsent bytes after the last flush that began with a ``backlog`` within the limit. One flush can
    /// write many bytes, so the number can exceed the limit.
    private var burst = 0
    /// The bytes that were written since the last flush.
    private var unflushed = 0
    /// Whether a task on the event loop will flush.
    private var isFlushScheduled = false
    /// The messages that wait because too many bytes are unsent.
    var waiting = WaitingMessages()
    /// The error of all messages that were not sent, because the server did not read; nil if it reads.
    private(set) var fullBuffer: WebSocketError?
    #if Compression
        /// Compresses messages; nil if client and server have not agreed on compression.
        var deflater: MessageDeflater?
        var inflater: MessageInflater?
    #endif
    /// Whether bytes of an incomplete frame arrived during the current read.
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
    func send(
        _ promise: EventLoopPromise<Void>?,
        _ makeFrame: (inout WebSocketFrameWriter, ByteBufferAllocator) -> ByteBuffer
    ) {
        guard case .open = stage, let context else {
            promise?.fail(ConnectionFailure.notOpen())
            return
        }
        if backlog == nil { backlog = unwrittenBytes(context) }
        let frame = makeFrame(&writer, context.channel.allocator)
        unflushed += frame.readableBytes
        guard let promise else {
            context.write(wrapOutboundOut(frame), promise: nil)
            return
        }
        let written = eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { result in
            promise.completeWith(result.mapError { self.fullBuffer ?? ConnectionFailure.notOpen($0) })
            if case .success = result { self.messageWritten() }
        }
        context.write(wrapOutboundOut(frame), promise: written)
    }

    /// Flushes at the end of this turn of the event loop, because one system call for many messages takes less time than
    /// one for each. Flushes at once if the turn has written many bytes, so that few bytes escape the limit of the send
    /// buffer.
    func flush() {
        guard unflushed < min(65_536, options.sendBufferSize / 16) else { return flushAtOnce() }
        guard !isFlushScheduled else { return }
        isFlushScheduled = true
        eventLoop.assumeIsolated().execute {
            self.isFlushScheduled = false
            self.flushAtOnce()
        }
    }

    private func flushAtOnce() {
        guard let context else { return }
        unflushed = 0
        context.flush()
        endIfUnread(context)
    }

    /// Returns the number of unsent bytes, or zero if the channel accepts more.
    func unwrittenBytes(_ context: ChannelHandlerContext) -> Int {
        guard !context.channel.isWritable else { return 0 }
        return (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    }

    /// Fails the connection if too many bytes wait because the server does not read. Otherwise, unsent messages would
    /// fill the memory. One large burst of messages can exceed the limit even if the server reads. So the client counts
    /// only the bytes that it writes after the burst. Messages of ``sendInTurn(_:promise:)`` never fail this check.
    private func endIfUnread(_ context: ChannelHandlerContext) {
        guard case .open = stage, let backlog else { return }
        self.backlog = nil
        let limit = options.sendBufferSize
        let unwritten = unwrittenBytes(context)
        guard backlog > limit else {
            burst = unwritten
            return
        }
        guard unwritten - burst > limit else { return }
        endWithFullBuffer("\(unwritten) bytes wait for it. The limit is \(limit)")
    }

    func endWithFullBuffer(_ details: String) {
        let error = WebSocketError(.sendBufferFull, "Send buffer full: the server does not read, and \(details).")
        fullBuffer = error
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
        writeFrame(writer.closeFrame(code, reason: reason, allocator: context.channel.allocator))
        context.flush()
    }
}
