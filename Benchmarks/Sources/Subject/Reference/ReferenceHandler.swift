import NIOCore
import NIOWebSocket
import Workload

/// Subscribes as the client does, and passes on the frames after the answers.
///
/// The handler is not generic over its consumer, because the compiler would not specialize the handler, and the
/// reference would be slow.
final class ReferenceHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let workload: Workload
    private let didAnswer: () -> Void
    private let didSubscribe: (any Channel) -> Void
    private let didClose: () -> Void
    private let consume: (WebSocketFrame) -> Void
    /// The greeting, and an answer for each channel.
    private var expected: Int

    init(
        _ workload: Workload,
        didAnswer: @escaping () -> Void = {},
        didSubscribe: @escaping (any Channel) -> Void = { _ in },
        didClose: @escaping () -> Void = {},
        consume: @escaping (WebSocketFrame) -> Void = { _ in }
    ) {
        self.workload = workload
        self.consume = consume
        self.didAnswer = didAnswer
        self.didSubscribe = didSubscribe
        self.didClose = didClose
        expected = workload.channels + 1
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        guard expected > 0 else { return consume(frame) }
        guard frame.opcode == .text else { return }
        if expected == workload.channels + 1 {
            for index in 0..<workload.channels {
                context.write(wrapOutboundOut(.subscribe(workload.channelName(index))), promise: nil)
            }
            context.flush()
        } else {
            didAnswer()
        }
        expected -= 1
        if expected == 0 { didSubscribe(context.channel) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        didClose()
        context.fireChannelInactive()
    }
}

extension WebSocketFrame {
    /// The message that subscribes to a channel.
    static func subscribe(_ channel: String) -> WebSocketFrame {
        text(#"{"event":"pusher:subscribe","data":{"channel":"\#(channel)"}}"#)
    }

    static func text(_ text: String) -> WebSocketFrame {
        WebSocketFrame(fin: true, opcode: .text, maskKey: .random(), data: ByteBuffer(string: text))
    }
}
