import Foundation
import PusherProtocol

extension PusherConnection {
    /// Sends a message of your own, for a server that extends the protocol. For client events, use
    /// ``PusherChannel/trigger(eventName:data:)``.
    ///
    /// The client does not track the effects of the message. It unsubscribes from a channel that it did not subscribe
    /// to itself: use `subscribe`. Messages that cannot be sent are reported to the delegate and by ``Pusher/errors``.
    /// Without a connection, no message can be sent.
    ///
    /// - Parameters:
    ///   - event: The event's name.
    ///   - data: The data: anything that `JSONSerialization` accepts, including a string or a number, or an `Encodable`
    ///     value.
    ///   - channel: The channel of a client event. The event is triggered there, and its name must begin with
    ///     `client-`. Nil, the default, for a message that belongs to no channel.
    public func sendEvent(event: String, data: Any, channel: PusherChannel? = nil) {
        if let channel { return channel.trigger(eventName: event, data: data) }
        let message = Result { () throws(PusherClientError) in try makeMessage(event, data) }
        engine.step { state, now in
            switch message {
            case .success(let envelope): state.machine.sendMessage(envelope, now: now, into: &state.pending)
            case .failure(var error):
                error.eventName = event
                state.machine.countUnsentMessage()
                state.pending.append(.report(error))
            }
        }
    }

    private func makeMessage(_ event: String, _ data: Any) throws(PusherClientError) -> Envelope {
        guard !EventName.isClientEvent(event) else {
            throw PusherClientError(
                .clientEventsNotAllowed,
                "Client event \(event.quoted) not sent: it has no channel. Send it on a private or presence channel."
            )
        }
        do {
            return Envelope(event: event, data: try ClientEventData.payload(of: data, .json))
        } catch {
            throw PusherClientError(
                .invalidClientEventData,
                "Message \(event.quoted) not sent: its data cannot be written as JSON.",
                cause: error
            )
        }
    }
}
