import NIOCore
import Workload

/// One connection of a SignalR client: the answer to its handshake, the requested calls, and a result for each call of
/// the client.
final class HubHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let load: HubLoad
    private var received = ClientFrames()
    private var isHandshakeDone = false
    /// Prepared frames, which the handler sends again and again.
    private var frames: EventFrames
    private var next = 0
    private var remaining: Int
    private var answers = ByteBuffer()
    /// The call whose upload has not ended.
    private var uploading: ArraySlice<UInt8>?

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

    private func received(_ frame: [UInt8], context: ChannelHandlerContext) {
        guard isHandshakeDone else {
            isHandshakeDone = true
            answer(Array("{}\u{1E}".utf8))
            if load.kind != .stream { send(load.window, context) }
            return
        }
        for message in HubMessage.messages(of: frame, isBinary: load.kind == .messagePack) {
            received(message, context)
        }
    }

    private func received(_ message: HubMessage, _ context: ChannelHandlerContext) {
        switch (message.type, message.invocationID) {
        case (3, _):
            // The end of an upload.
            if let id = uploading.take() { answerCall(id) }
        case (4, let id?):
            frames = EventFrames(load, stream: String(decoding: id, as: UTF8.self))
            send(load.window, context)
        case (1, let id?):
            if message.hasUploads { uploading = id } else { answerCall(id) }
        case (1, nil):
            if message.isGoAhead { send(load.window / 2, context) }
        default:
            break
        }
    }

    private func answerCall(_ id: ArraySlice<UInt8>) {
        guard load.kind == .messagePack else {
            return answer(Array(#"{"type":3,"invocationId":""#.utf8) + id + Array("\",\"result\":1}\u{1E}".utf8))
        }
        answer([UInt8(id.count + 6), 0x95, 0x03, 0x80, 0xA0 | UInt8(id.count)] + id + [0x03, 0x01])
    }

    private func answer(_ message: [UInt8]) {
        answers.writeBytes(WebSocketText.header(message.count, isBinary: load.kind == .messagePack))
        answers.writeBytes(message)
    }

    /// Sends this many frames at once. The window of the load limits the bytes that wait for the socket.
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
