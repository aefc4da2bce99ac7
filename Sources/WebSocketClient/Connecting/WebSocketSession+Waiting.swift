import NIOCore
import RealtimeNetworking

/// The messages that wait because too many bytes are unsent.
struct WaitingMessages {
    struct Element {
        let message: WebSocketMessage
        let promise: EventLoopPromise<Void>
    }

    var elements = CircularBuffer<Element>()
    /// Whether the session writes waiting messages. A write can complete at once, and would begin the same work again.
    var isWriting = false
    /// Limits the time without progress; nil if no message waits.
    var timer: Scheduled<Void>?
    /// The number of unsent bytes when the timer was set.
    var unwritten = 0
    /// Whether the system has taken a whole message since the timer was set.
    var hasProgress = false
}

extension WebSocketSession {
    /// Sends a message, or lets it wait while more than ``WebSocketOptions/sendBufferSize`` bytes are unsent. The
    /// promise fails with ``WebSocketError/Code/sendBufferFull`` if the server takes nothing for
    /// ``WebSocketOptions/sendTimeout``.
    func sendInTurn(_ message: WebSocketMessage, promise: EventLoopPromise<Void>) {
        guard case .open = stage, let context else { return promise.fail(ConnectionFailure.notOpen()) }
        guard waiting.elements.isEmpty, hasRoom(context) else {
            waiting.elements.append(WaitingMessages.Element(message: message, promise: promise))
            if waiting.timer == nil { watchProgress(context) }
            return
        }
        send(message, promise)
        flush()
    }

    /// Notes that the system has taken a message, and sends the messages that now have room.
    func messageWritten() {
        waiting.hasProgress = true
        sendWaiting()
    }

    /// Sends the waiting messages that now have room.
    func sendWaiting() {
        guard !waiting.isWriting else { return }
        waiting.isWriting = true
        // TLS counts bytes only after a flush. The system may take them within the flush, so that there is room again.
        while case .open = stage, let context, hasRoom(context), let next = waiting.elements.popFirst() {
            send(next.message, next.promise)
            flush()
        }
        waiting.isWriting = false
        if waiting.elements.isEmpty { stopWatching() }
    }

    /// Fails all messages that wait.
    func failWaiting(_ error: WebSocketError) {
        stopWatching()
        let elements = waiting.elements
        waiting.elements = CircularBuffer()
        for element in elements { element.promise.fail(error) }
    }

    private func hasRoom(_ context: ChannelHandlerContext) -> Bool {
        unwrittenBytes(context) <= options.sendBufferSize
    }

    private func send(_ message: WebSocketMessage, _ promise: EventLoopPromise<Void>) {
        switch message {
        case .text(let text): sendText(text, promise: promise)
        case .binary(let bytes): sendBinary(ByteBuffer(bytes: bytes), promise: promise)
        }
    }

    private func watchProgress(_ context: ChannelHandlerContext) {
        waiting.unwritten = unwrittenBytes(context)
        waiting.hasProgress = false
        let timeout = options.sendTimeout
        waiting.timer = eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(clamping: timeout)) {
            self.waiting.timer = nil
            guard case .open = self.stage, let context = self.context, !self.waiting.elements.isEmpty else { return }
            let unwritten = self.unwrittenBytes(context)
            guard self.waiting.hasProgress || unwritten < self.waiting.unwritten else {
                return self.endWithFullBuffer("it took none of \(unwritten) bytes for \(timeout.inWords)")
            }
            self.watchProgress(context)
        }
    }

    private func stopWatching() {
        waiting.timer?.cancel()
        waiting.timer = nil
    }
}
