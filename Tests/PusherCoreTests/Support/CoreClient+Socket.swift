import PusherProtocol
import Testing

@testable import PusherCore

/// The inputs that come from the socket.
extension CoreClient {
    @discardableResult
    mutating func opened(_ attempt: Int? = nil) -> Transcript {
        let id = id(of: attempt)
        return input { $0.opened(id, now: $1, into: &$2) }
    }

    @discardableResult
    mutating func received(_ envelope: Envelope, on attempt: Int? = nil) -> Transcript {
        let id = id(of: attempt)
        if let channel = envelope.channel, envelope.event != "message" { ledger.answered(channel) }
        if envelope.event == EventName.error, let own = machine.signIn.user?.channelName,
            envelope.data.text?.contains(own) == true
        {
            ledger.answered(own)
        }
        checkRecipient(of: envelope, on: id)
        return input { $0.received(envelope, on: id, now: $1, into: &$2) }
    }

    /// Checks that an event whose recipient the machine names has no effect except its delivery.
    private func checkRecipient(of envelope: Envelope, on id: AttemptID) {
        guard let recipient = machine.recipient(ofEvent: envelope.event, on: envelope.channel, id) else { return }
        var received = machine
        var effects: [Effect] = []
        received.received(envelope, on: id, now: now, into: &effects)
        var handedOver = machine
        var otherEffects: [Effect] = []
        handedOver.frameReceived(on: id, now: now, into: &otherEffects)
        handedOver.countDelivered()
        #expect(effects == otherEffects + [.deliver(recipient, envelope)])
        #expect(received == handedOver)
    }

    @discardableResult
    mutating func received(_ text: String, on attempt: Int? = nil) throws -> Transcript {
        received(try Envelope(decoding: text), on: attempt)
    }

    @discardableResult
    mutating func malformed(_ attempt: Int? = nil) -> Transcript {
        let id = id(of: attempt)
        return input { $0.receivedMalformed(.init(.malformedMessage, "no JSON"), on: id, now: $1, into: &$2) }
    }

    @discardableResult
    mutating func frameReceived(_ attempt: Int? = nil) -> Transcript {
        let id = id(of: attempt)
        return input { $0.frameReceived(on: id, now: $1, into: &$2) }
    }

    @discardableResult
    mutating func closed(
        _ attempt: Int? = nil,
        code: CloseCode? = nil,
        error: PusherClientError? = nil
    ) -> Transcript {
        let id = id(of: attempt)
        ledger.socketEnded(id)
        let closure = TransportClosure(code: code, error: error)
        return input { $0.closed(id, closure, now: $1, into: &$2) }
    }

    /// Receives the `Retry-After` of a refusal.
    mutating func received(retryAfter: Duration, on attempt: Int? = nil) {
        let id = id(of: attempt)
        _ = input { machine, _, _ in machine.received(retryAfter: retryAfter, on: id) }
    }

    /// Receives `pusher:connection_established`. The socket id is the attempt's number and `.1`.
    @discardableResult
    mutating func greeted(activityTimeout: String? = "120", on attempt: Int? = nil) -> Transcript {
        received(.greeting(attempt ?? self.attempt, activityTimeout: activityTimeout), on: attempt)
    }

    /// Opens the socket, and receives the greeting.
    @discardableResult
    mutating func establish(activityTimeout: String? = "120") -> Transcript {
        opened() + greeted(activityTimeout: activityTimeout)
    }
}
