import NIOCore

/// One end of a tunnel: bytes that arrive here are sent at the other end, and so is the end of the stream.
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

    /// The channel's end follows.
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func write(_ bytes: ByteBuffer) { context?.write(Self.wrapOutboundOut(bytes), promise: nil) }

    /// Closes after all earlier bytes have been sent, because closing does not wait for them by itself.
    private func close(_ mode: CloseMode) {
        guard let context else { return }
        let channel = context.channel
        context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer())).whenComplete { _ in
            channel.close(mode: mode, promise: nil)
        }
    }
}
