import Foundation
import PusherProtocol

extension PusherConnection {
    /// Sends a message of your own: for a server that knows more than the protocol. A client event is better sent with
    /// ``PusherChannel/trigger(eventName:data:)``.
    ///
    /// The client does not follow what the message brings about, and ends a subscription that it did not ask for: use
    /// `subscribe`. What cannot be sent is reported to the delegate and by
    /// ``Pusher/errors``; without a connection, that is everything.
    ///
    /// - Parameters:
    ///   - event: The event's name.
    ///   - data: The data: anything that `JSONSerialization` takes, a string or a number among it, or an `Encodable`
    ///     value.
    ///   - channel: The channel of a client event: it is triggered there, and the name has to begin with `client-`.
    ///     Nil, the default, for a message that belongs to no channel.
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
                "the client event \(event) was not sent: it has no channel; trigger it on a private or presence channel"
            )
        }
        do {
            return Envelope(event: event, data: try ClientEventData.payload(of: data, .json))
        } catch {
            throw PusherClientError(
                .invalidClientEventData,
                "the message \(event) was not sent: its data is not what JSON can hold",
                cause: error
            )
        }
    }
}
