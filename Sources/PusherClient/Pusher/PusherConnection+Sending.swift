import Foundation
import PusherProtocol

extension PusherConnection {
    /// Sends a message of your choice, for a server that extends the protocol. For client events, use
    /// ``PusherChannel/trigger(eventName:data:)``.
    ///
    /// The client does not track the effects of the message. If a message subscribes to a channel, the client
    /// unsubscribes from this channel again, so use `subscribe` for channels. If the client cannot send a message, for
    /// example without a connection, the delegate and ``Pusher/errors`` get the error.
    ///
    /// - Parameters:
    ///   - event: The event's name.
    ///   - data: The data: anything that `JSONSerialization` accepts, including a string or a number, or an `Encodable`
    ///     value.
    ///   - channel: The channel of a client event. The client triggers the event on this channel, and the name must
    ///     begin with `client-`. Default: nil, for a message that belongs to no channel.
    public func sendEvent(event: String, data: Any, channel: PusherChannel? = nil) {
        if let channel { return channel.trigger(eventName: event, data: data) }
        let message = Result { () throws(PusherClientError) in try makeMessage(event, data) }
        engine.step { state, now in
            switch message {
            case .success(let envelope): state.machine.sendMessage(envelope, now: now, into: &state.pending)
            case .failure(var error):
                error.setEventName(event)
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
