import NIOConcurrencyHelpers
import NIOCore
import PusherProtocol

/// What comes from the wire. All of this happens on the event loop.
extension ClientEngine {
    /// What is to be called with whatever happens on the socket of an attempt.
    func makeReceiver(_ id: AttemptID) -> @Sendable (TransportEvent) -> Void {
        let reception = NIOLoopBound(Reception(id, self), eventLoop: eventLoop)
        return { event in reception.value.received(event) }
    }

    // MARK: The fast way

    /// Claims the funnel for ordinary events: no other effect is carried out until the caller calls ``drain()``. Returns
    /// `false` if there are effects already, or if events cannot be ordinary.
    func claim(_ id: AttemptID) -> Bool {
        let now = now()
        return state.withLockedValue { state in
            guard !state.isDraining, state.pending.isEmpty, state.machine.connection.establishedAttempt == id
            else { return false }
            state.machine.activity(on: id, now: now, into: &state.pending)
            state.isDraining = state.pending.isEmpty
            return state.isDraining
        }
    }

    /// Looks up who gets an ordinary event. Returns `nil` for other messages, and if effects wait that come before the event.
    func audience(ofEvent eventName: String, on channelName: String?, _ id: AttemptID) -> Audience? {
        let count = changes.value
        let (isOrdinary, channel) = state.withLockedValue { state -> (Bool, PusherChannel?) in
            guard state.pending.isEmpty,
                let recipient = state.machine.recipient(ofEvent: eventName, on: channelName, id)
            else { return (false, nil) }
            switch recipient {
            case .channel(let id): return (true, state.channels[id])
            case .globalListeners: return (true, nil)
            }
        }
        guard isOrdinary else { return nil }
        return Audience(eventName, everyEvent, channel?.listeners, changes, count: count)
    }

    // MARK: The careful way

    /// Has the machine look at the messages of one read, and carries out what that leads to.
    func receive(_ messages: consuming [Envelope], size: Int, on id: AttemptID) {
        let messages = messages
        step { state, now in
            state.counts.messagesReceived += messages.count
            state.counts.bytesReceived += size
            for message in messages { state.machine.received(message, on: id, now: now, into: &state.pending) }
        }
    }
}
