import NIOCore

/// Stops reading from its channel while the partner's channel is not writable. Both channels run on one event loop.
final class BackPressureHandler: ChannelDuplexHandler {
    typealias InboundIn = NIOAny
    typealias OutboundIn = NIOAny

    private var context: ChannelHandlerContext?
    private var counterpart: BackPressureHandler?
    private var isReadHeld = false

    static func makePair() -> (BackPressureHandler, BackPressureHandler) {
        let pair = (BackPressureHandler(), BackPressureHandler())
        pair.0.counterpart = pair.1
        pair.1.counterpart = pair.0
        return pair
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    /// Lets the partner read again, because a removed handler cannot report that its channel has become writable.
    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        let counterpart = self.counterpart
        self.counterpart = nil
        counterpart?.counterpart = nil
        counterpart?.resumeReading()
    }

    func read(context: ChannelHandlerContext) {
        if counterpart?.context?.channel.isWritable == false { isReadHeld = true } else { context.read() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { counterpart?.resumeReading() }
        context.fireChannelWritabilityChanged()
    }

    private func resumeReading() {
        guard isReadHeld else { return }
        isReadHeld = false
        context?.read()
    }
}
