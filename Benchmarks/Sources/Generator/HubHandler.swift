import NIOCore
import Workload

/// One connection of a SignalR client: the answer to its handshake, the calls that were asked for, and a result for each call
/// of the client.
final class HubHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let load: HubLoad
    private var received = ClientFrames()
    private var isHandshakeDone = false
    /// What was not sent yet.
    private let frames: EventFrames
    private var next = 0
    private var remaining: Int
    private var answers = ByteBuffer()

    init(_ load: HubLoad) {
        self.load = load
        frames = EventFrames(load)
        remaining = load.events
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received.append(unwrapInboundIn(data))
        while let frame = received.next() {
            switch frame {
            case .message(let message): received(message, context: context)
            case .close: context.close(promise: nil)
            case .other: break
            }
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if answers.readableBytes > 0 { context.write(wrapOutboundOut(answers), promise: nil) }
        answers = ByteBuffer()
        context.flush()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func received(_ message: [UInt8], context: ChannelHandlerContext) {
        if !isHandshakeDone {
            isHandshakeDone = true
            answer(Array("{}\u{1E}".utf8))
            send(load.window, context)
        } else if let start = message.range(of: #""invocationId":""#)?.upperBound {
            let id = message[start...].prefix { $0 != UInt8(ascii: "\"") }
            answer(Array(#"{"type":3,"invocationId":""#.utf8) + id + Array("\",\"result\":1}\u{1E}".utf8))
        } else if message.range(of: "Go") != nil {
            send(load.window / 2, context)
        }
    }

    private func answer(_ message: [UInt8]) {
        answers.writeBytes(WebSocketText.header(message.count, isBinary: load.isMessagePack))
        answers.writeBytes(message)
    }

    /// The window bounds what waits for the socket.
    private func send(_ count: Int, _ context: ChannelHandlerContext) {
        if answers.readableBytes > 0 { context.write(wrapOutboundOut(answers), promise: nil) }
        answers = ByteBuffer()
        var count = min(count, remaining)
        remaining -= count
        while count > 0 {
            let slice = frames.slice(from: next, count: count)
            context.write(wrapOutboundOut(slice.bytes), promise: nil)
            next = (next + slice.count) % frames.count
            count -= slice.count
        }
    }
}
