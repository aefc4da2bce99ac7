import NIOCore
import Workload

/// One connection: the greeting, the answers to subscriptions, and then the requested events.
final class WorkloadHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let workload: Workload
    private var subscribed = 0
    private var clientEvents = 0
    private var answers = ByteBuffer()
    /// Prepared frames of a flood, which the handler sends again and again.
    private var frames: EventFrames?
    private var next = 0
    private var remaining = 0
    private var credit = 0
    private var loneEvents: RepeatedTask?
    private var remainingLoneEvents = 0
    private var received = ClientFrames()
    private var context: ChannelHandlerContext?

    private static let answerStart = Array(#"{"event":"pusher_internal:subscription_succeeded","channel":""#.utf8)
    private let answerEnd: [UInt8]

    init(_ workload: Workload) {
        self.workload = workload
        let data = workload.kind == .presence ? PresenceText.list(count: workload.members) : "{}"
        answerEnd = Array(#"","data":"\#(Payload.escaped(data))"}"#.utf8)
        // Frames are made before the measurement begins.
        if workload.events > 0 {
            frames =
                workload.isPresenceStorm
                ? EventFrames(stormOf: workload.events / 2, on: workload.channelName(0)) : EventFrames(workload)
        }
        remaining = workload.interval == 0 ? workload.events : 0
        credit = workload.window == 0 ? .max : workload.window
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let greeting = #"{"socket_id":"1234.5678","activity_timeout":120}"#
        answer(#"{"event":"pusher:connection_established","data":"\#(Payload.escaped(greeting))"}"#)
        // The greeting has to follow the answer to the upgrade.
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.eventLoop.execute { bound.value.flushAnswers() }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        loneEvents?.cancel()
        self.context = nil
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
        flushAnswers()
        pump(context)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        pump(context)
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    // MARK: Messages

    private func received(_ message: [UInt8], context: ChannelHandlerContext) {
        if message.range(of: #"{"event":"client-"#)?.lowerBound == 0 {
            clientEvents += 1
            guard clientEvents == workload.clientEvents else { return }
            answer(Payload.envelope(event: Workload.completionName, channel: workload.channelName(0), data: "{}"))
        } else if let name = message.range(of: #"{"event":"pusher:subscribe""#),
            let start = message.range(of: #""channel":""#, from: name.upperBound)?.upperBound,
            let end = message[start...].firstIndex(of: UInt8(ascii: "\""))
        {
            subscribe(message[start..<end], context: context)
        } else if message.range(of: #"{"event":"pusher:ping""#) != nil {
            answer(#"{"event":"pusher:pong","data":"{}"}"#)
        }
    }

    private func subscribe(_ channel: ArraySlice<UInt8>, context: ChannelHandlerContext) {
        guard !channel.starts(with: Workload.goAheadPrefix.utf8) else {
            credit += workload.window / 2
            return
        }
        // Answers are made as bytes, because there can be very many answers.
        let size = Self.answerStart.count + channel.count + answerEnd.count
        answers.writeBytes(WebSocketText.header(size))
        answers.writeBytes(Self.answerStart)
        answers.writeBytes(channel)
        answers.writeBytes(answerEnd)
        subscribed += 1
        guard subscribed == workload.channels else { return }
        if workload.isDropped {
            let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
            flushAnswers()?.assumeIsolated().whenComplete { _ in bound.value.close(promise: nil) }
        } else if workload.interval > 0, workload.events > 0 {
            sendLoneEvents(context)
        }
    }

    private func answer(_ text: String) { answers.writeBytes(WebSocketText.frame(text)) }

    @discardableResult
    private func flushAnswers() -> EventLoopFuture<Void>? {
        guard answers.readableBytes > 0, let context else { return nil }
        defer { answers = ByteBuffer() }
        return context.writeAndFlush(wrapOutboundOut(answers))
    }

    // MARK: Events

    private func pump(_ context: ChannelHandlerContext) {
        guard subscribed >= workload.channels, let frames else { return }
        var hasWritten = false
        while remaining > 0, credit > 0, context.channel.isWritable {
            let most = max(1, 256 * 1_024 / frames.frameSize)
            let slice = frames.slice(from: next, count: min(most, remaining, credit))
            context.write(wrapOutboundOut(slice.bytes), promise: nil)
            hasWritten = true
            next = (next + slice.count) % frames.count
            remaining -= slice.count
            if workload.window > 0 { credit -= slice.count }
            if !context.channel.isWritable { context.flush() }
        }
        if hasWritten { context.flush() }
    }

    private func sendLoneEvents(_ context: ChannelHandlerContext) {
        remainingLoneEvents = workload.events
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        let period = TimeAmount.microseconds(Int64(workload.interval))
        loneEvents = context.eventLoop.scheduleRepeatedTask(initialDelay: period, delay: period) { task in
            bound.value.sendLoneEvent()
            if bound.value.remainingLoneEvents == 0 { task.cancel() }
        }
    }

    private func sendLoneEvent() {
        remainingLoneEvents -= 1
        guard let context else { return }
        let stamp = MonotonicTime.stamp(MonotonicTime.nanoseconds)
        let padding = String(repeating: "-", count: max(workload.size - stamp.utf8.count - 19, 0))
        let text = Payload.envelope(
            event: Workload.eventName,
            channel: workload.channelName(0),
            data: #"{"sent":\#(stamp),"note":"\#(padding)"}"#
        )
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: WebSocketText.frame(text))), promise: nil)
    }
}
