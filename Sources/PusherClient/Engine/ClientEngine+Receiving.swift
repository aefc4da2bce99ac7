import NIOConcurrencyHelpers
import NIOCore
import PusherProtocol

/// Receives messages from the connection, on the event loop.
extension ClientEngine {
    /// Makes the function that the transport calls with each event of an attempt's socket.
    func makeReceiver(_ id: AttemptID) -> @Sendable (TransportEvent) -> Void {
        let receiver = NIOLoopBound(MessageReceiver(id, self), eventLoop: eventLoop)
        return { event in receiver.value.received(event) }
    }

    // MARK: The fast path

    /// Begins the direct delivery of ordinary events. The engine carries out no effect until the caller calls ``carryOut()``.
    /// Returns `false` if effects are pending, or if no event can be ordinary.
    func beginDirectDelivery(_ id: AttemptID) -> Bool {
        let now = now()
        return state.withLockedValue { state in
            guard !state.isDraining, state.machine.connection.establishedAttempt == id
            else { return false }
            state.machine.frameReceived(on: id, now: now, into: &state.pending)
            state.isDraining = true
            return true
        }
    }

    /// Looks up the listeners of an ordinary event. Returns `nil` for any other message.
    func recipients(ofEvent eventName: String, on channelName: String?, _ id: AttemptID) -> EventRecipients? {
        let count = listenerContext.changes.value
        let (recipient, channel) = state.withLockedValue {
            state -> (ClientStateMachine.Recipient?, PusherChannel?) in
            let recipient = state.machine.recipient(ofEvent: eventName, on: channelName, id)
            guard case .channel(let id)? = recipient else { return (recipient, nil) }
            return (recipient, state.channels[id])
        }
        guard recipient != nil else { return nil }
        return EventRecipients(eventName, clientListeners, channel?.listeners, listenerContext, count: count)
    }

    // MARK: The slow path

    /// Gives messages to the machine, and carries out the resulting effects. Afterwards the caller calls ``endTurn()``.
    func receive(_ messages: [Envelope], size: Int, on id: AttemptID) {
        let (_, mustCarryOut) = makeTransition { state, now in
            state.counts.messagesReceived += messages.count
            state.counts.bytesReceived += size
            for message in messages { state.machine.received(message, on: id, now: now, into: &state.pending) }
        }
        if mustCarryOut { carryOut() }
    }
}
