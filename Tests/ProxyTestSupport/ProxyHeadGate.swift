import NIOCore

/// Passes the head of one request to the HTTP decoder, and holds later bytes back until their destination is known. The
/// gate never gives the decoder bytes for a tunnel, because the decoder could lose them.
final class ProxyHeadGate: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = ByteBuffer

    enum HeadError: Error {
        case tooLong
        /// The head is complete, so the decoder will get no more bytes.
        case ended
    }

    private enum State {
        /// The number of bytes in the head so far, and the number of matched bytes of the blank line that ends the
        /// head.
        case head(length: Int, matched: Int)
        case holding(ByteBuffer, hasEnded: Bool)
        case open
        case discarding
    }

    private static let maximumHeadSize = 64 << 10
    private static let headEnd = Array("\r\n\r\n".utf8)

    private var state = State.head(length: 0, matched: 0)
    private var isReadHeld = false
    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    // MARK: Commands

    /// Passes the held bytes and all later bytes.
    func open() { go(to: .open) }

    /// Discards all later bytes. Still reports when the client closes its side.
    func discard() { go(to: .discarding) }

    /// Writes bytes without the HTTP encoder.
    @discardableResult
    func write(_ bytes: ByteBuffer) -> EventLoopFuture<Void>? {
        context?.writeAndFlush(Self.wrapOutboundOut(bytes))
    }

    private func go(to newState: State) {
        guard let context else { return }
        let oldState = state
        state = newState
        if case .holding(let bytes, let hasEnded) = oldState {
            if case .open = newState, bytes.readableBytes > 0 {
                context.fireChannelRead(Self.wrapInboundOut(bytes))
                context.fireChannelReadComplete()
            }
            if hasEnded { context.fireUserInboundEventTriggered(ChannelEvent.inputClosed) }
        }
        if isReadHeld {
            isReadHeld = false
            context.read()
        }
    }

    // MARK: ChannelDuplexHandler

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = Self.unwrapInboundIn(data)
        switch state {
        case .head(let length, let matched):
            readHead(&bytes, length: length, matched: matched, context)
        case .holding(var held, let hasEnded):
            held.writeBuffer(&bytes)
            state = .holding(held, hasEnded: hasEnded)
        case .open:
            context.fireChannelRead(data)
        case .discarding:
            break
        }
    }

    private func readHead(_ bytes: inout ByteBuffer, length: Int, matched: Int, _ context: ChannelHandlerContext) {
        var (length, matched) = (length, matched)
        var headLength = 0
        for byte in bytes.readableBytesView where matched < Self.headEnd.count {
            headLength += 1
            // Blank lines before a request do not end the head.
            if length == 0, byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\n") { continue }
            length += 1
            matched = byte == Self.headEnd[matched] ? matched + 1 : byte == Self.headEnd[0] ? 1 : 0
        }
        guard length <= Self.maximumHeadSize else {
            state = .discarding
            context.fireErrorCaught(HeadError.tooLong)
            return
        }
        guard let head = bytes.readSlice(length: headLength) else { return }
        // The state changes first, because the request's handler may call `open()` or `discard()` at once.
        state =
            matched < Self.headEnd.count ? .head(length: length, matched: matched) : .holding(bytes, hasEnded: false)
        context.fireChannelRead(Self.wrapInboundOut(head))
        if case .holding = state { context.fireErrorCaught(HeadError.ended) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed, case .holding(let held, _) = state {
            state = .holding(held, hasEnded: true)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    func read(context: ChannelHandlerContext) {
        if case .holding = state { isReadHeld = true } else { context.read() }
    }
}
