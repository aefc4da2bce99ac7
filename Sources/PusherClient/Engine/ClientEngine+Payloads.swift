import NIOCore
import PusherProtocol

/// Events on their way through the application's ``PayloadTransformer``.
extension ClientEngine {
    /// What is delivered for an event of a channel.
    func transformed(_ event: PusherEvent) -> [PusherEvent] {
        guard let transformer = options.payloadTransformer, let channelName = event.channelName,
            !EventName.isProtocolEvent(event.eventName)
        else { return [event] }
        let payload = EventPayload(
            eventName: event.eventName,
            data: event.data,
            channelName: channelName,
            userId: event.userId
        )
        // Taken out: what it keeps would be copied as soon as it changes.
        var reader =
            loopState.value.payloadReaders.removeValue(forKey: channelName)
            ?? transformer.makeReader(channelName: channelName)
        defer { loopState.value.payloadReaders[channelName] = reader }
        do {
            return try reader.incoming(payload).map { changed in
                changed.hasBytes(of: payload) ? event : PusherEvent(event, carrying: changed)
            }
        } catch {
            loopState.value.counts.untransformedEvents += 1
            report(.transformerThrew(error, "the event \(event.eventName.quoted) was not delivered", channelName))
            return []
        }
    }

    /// Nothing is left over from what came before.
    func forgetPayloads(of channelName: String) {
        loopState.value.payloadReaders[channelName] = nil
    }

    /// The same for the events of whoever was the user.
    func forgetPayloadsOfUsers() {
        loopState.value.payloadReaders = loopState.value.payloadReaders.filter {
            !$0.key.hasPrefix(ChannelName.serverToUserPrefix)
        }
    }
}
