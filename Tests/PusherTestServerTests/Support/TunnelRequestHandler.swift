import NIOCore
import NIOPosix

@testable import PusherTestServer

/// A handler that requests a tunnel from a proxy, and removes itself when the tunnel is open.
final class TunnelRequestHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let target: String
    private let finished: EventLoopPromise<Void>
    private var answer: [UInt8] = []

    init(target: String, finished: EventLoopPromise<Void>) {
        self.target = target
        self.finished = finished
    }

    func channelActive(context: ChannelHandlerContext) {
        let head = "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\r\n"
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: head)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        answer += unwrapInboundIn(data).readableBytesView
        guard answer.suffix(4).elementsEqual("\r\n\r\n".utf8) else { return }
        if answer.starts(with: "HTTP/1.1 200 ".utf8) {
            context.pipeline.syncOperations.removeHandler(self, promise: finished)
        } else {
            finished.fail(SocketClient.UnexpectedAnswer())
        }
    }

    func channelInactive(context: ChannelHandlerContext) { finished.fail(SocketClient.UnexpectedAnswer()) }
}
