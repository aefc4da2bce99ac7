import NIOCore
import Workload

/// Answers a request for an event stream with prepared events, as fast as the socket accepts them.
final class StreamHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var block = ByteBuffer()
    private var blocksLeft: Int?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard blocksLeft == nil else { return }
        let request = String(buffer: unwrapInboundIn(data))
        guard let path = request.split(separator: " ").dropFirst().first, let stream = StreamLoad(path: String(path))
        else {
            return context.close(promise: nil)
        }
        for _ in 0..<stream.eventsPerBlock { block.writeString(stream.event) }
        blocksLeft = stream.blocks
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: head)), promise: nil)
        write(context)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) { write(context) }

    private func write(_ context: ChannelHandlerContext) {
        guard let left = blocksLeft, left > 0 else { return }
        var rest = left
        while rest > 0, context.channel.isWritable {
            rest -= 1
            blocksLeft = rest
            if rest > 0 {
                context.writeAndFlush(wrapOutboundOut(block), promise: nil)
            } else {
                let context = NIOLoopBound(context, eventLoop: context.eventLoop)
                context.value.writeAndFlush(wrapOutboundOut(block)).whenComplete { _ in
                    context.value.close(promise: nil)
                }
            }
        }
    }
}
