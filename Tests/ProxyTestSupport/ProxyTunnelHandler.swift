import NIOCore

/// One end of a tunnel. The handler passes received bytes to the other end, and closes the other end when its own
/// channel is closed.
final class ProxyTunnelHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var context: ChannelHandlerContext?
    private var other: ProxyTunnelHandler?

    static func makePair() -> (ProxyTunnelHandler, ProxyTunnelHandler) {
        let pair = (ProxyTunnelHandler(), ProxyTunnelHandler())
        pair.0.other = pair.1
        pair.1.other = pair.0
        return pair
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        other = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        other?.write(Self.unwrapInboundIn(data))
    }

    func channelReadComplete(context: ChannelHandlerContext) { other?.context?.flush() }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed { other?.close(.output) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        other?.close(.all)
        context.fireChannelInactive()
    }

    /// Closes the channel. `channelInactive(context:)` then closes the other end.
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func write(_ bytes: ByteBuffer) { context?.write(Self.wrapOutboundOut(bytes), promise: nil) }

    /// Closes the channel after all earlier bytes have been sent. A plain close would not wait for them.
    private func close(_ mode: CloseMode) {
        guard let context else { return }
        let channel = context.channel
        context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer())).whenComplete { _ in
            channel.close(mode: mode, promise: nil)
        }
    }
}
