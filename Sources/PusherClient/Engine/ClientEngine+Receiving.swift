import Logging
import NIOConcurrencyHelpers
import NIOCore
import PusherProtocol

/// What comes from the wire. All of this happens on the event loop.
extension ClientEngine {
    /// What is to be called with whatever happens on the socket of an attempt.
    func makeReceiver(_ id: AttemptID) -> @Sendable (TransportEvent) -> Void {
        let inbox = NIOLoopBound(Inbox(), eventLoop: eventLoop)
        return { event in self.handle(event, on: id, inbox.value) }
    }

    /// Messages wait for the end of the read that brought them, so that they are handled together; whatever else
    /// happens comes after them.
    private func handle(_ event: TransportEvent, on id: AttemptID, _ inbox: Inbox) {
        if case .text(let buffer) = event { return decode(buffer, on: id, inbox) }
        // Nothing that the last messages lead to is for a socket that is about to say how it ended.
        if case .closed = event { loopState.value.connections[id] = nil }
        handleMessages(of: inbox, on: id)
        switch event {
        case .text, .readComplete:
            break
        case .activity:
            step { state, now in state.machine.activity(on: id, now: now, into: &state.pending) }
        case .opened:
            step { state, now in state.machine.opened(id, now: now, into: &state.pending) }
        case .binary(let buffer):
            malformed(
                "the server sent a binary message of \(buffer.readableBytes) bytes; the protocol has none",
                bytes: buffer.readableBytes,
                on: id
            )
        case .closed(let closure):
            step { state, now in state.machine.closed(id, closure, now: now, into: &state.pending) }
        }
    }

    private func decode(_ buffer: ByteBuffer, on id: AttemptID, _ inbox: Inbox) {
        do {
            let envelope = try inbox.decode(buffer.readableBytesUInt8Span)
            if tracesMessages { trace("Received", envelope, String(buffer: buffer)) }
            inbox.append(envelope, bytes: buffer.readableBytes)
        } catch {
            if tracesMessages {
                logger.trace("Received", metadata: ["pusher.message": "\(String(buffer: buffer).escapingControls)"])
            }
            handleMessages(of: inbox, on: id)
            malformed(
                "the server sent \(buffer.readableBytes) bytes that are no message: \(error)",
                bytes: buffer.readableBytes,
                on: id
            )
        }
    }

    private func malformed(_ message: String, bytes: Int, on id: AttemptID) {
        let error = PusherClientError(.malformedMessage, message)
        step { state, now in
            state.counts.messagesReceived += 1
            state.counts.bytesReceived += bytes
            state.machine.receivedMalformed(error, on: id, now: now, into: &state.pending)
        }
    }

    /// Has the machine look at the messages that wait, and carries out what that leads to.
    private func handleMessages(of inbox: Inbox, on id: AttemptID) {
        inbox.releaseMemory()
        guard !inbox.isEmpty else { return }
        var batch = inbox.take()
        let now = now()
        let mustDrain = state.withLockedValue { $0.receive(&batch, on: id, now: now) }
        if mustDrain {
            for (index, channel) in batch.deliveries {
                deliverServerEvent(PusherEvent(batch.messages[index]), to: channel)
            }
            drain()
        }
        inbox.recycle(&batch)
    }
}

extension ClientEngine.State {
    /// Most messages are ordinary events, which change nothing, and have no effect but their delivery: those at the
    /// front are left to the caller. The first effect ends that: all that comes after it becomes effects too, so that
    /// what happened first is carried out first.
    ///
    /// - Returns: Whether the caller has to deliver, and then to see to the effects.
    fileprivate mutating func receive(_ batch: inout Inbox.Batch, on id: AttemptID, now: Instant) -> Bool {
        machine.activity(on: id, now: now, into: &pending)
        counts.messagesReceived += batch.messages.count
        counts.bytesReceived += batch.bytes
        for index in batch.messages.indices {
            guard !isDraining, pending.isEmpty,
                let recipient = machine.recipient(
                    ofEvent: batch.messages[index].event,
                    on: batch.messages[index].channel,
                    id
                )
            else {
                machine.received(batch.messages[index], on: id, now: now, into: &pending)
                continue
            }
            switch recipient {
            case .channel(let id): batch.deliveries.append((index, channels[id]))
            case .globalListeners: batch.deliveries.append((index, nil))
            }
        }
        machine.delivered(eventCount: batch.deliveries.count)
        guard !isDraining else { return false }
        isDraining = true
        return true
    }
}
