import PusherProtocol
import RealtimeJSON

/// The messages to signed-in users and on cache channels (protocol clause 3).
extension PusherTestServer.Dialect {
    func cacheMiss(channel: String) -> String {
        text(Envelope(event: EventName.cacheMiss, channel: channel, data: payload(cache.missData)))
    }

    func signInSuccess(userData: String, auth: String) -> String {
        var members = [("user_data", JSONWriter.string(userData))]
        if users.echoesAuth { members.append(("auth", JSONWriter.string(auth))) }
        let data = users.signInSuccess.payload(JSONWriter.object(members))
        return text(Envelope(event: EventName.signInSuccess, data: data))
    }

    func watchlistEvents(_ events: [(name: String, userIDs: [String])]) -> String {
        let list = events.map { event in
            JSONWriter.object([
                ("name", JSONWriter.string(event.name)),
                ("user_ids", JSONWriter.array(event.userIDs.map(JSONWriter.string))),
            ])
        }
        let data = users.watchlistEvents.payload(JSONWriter.object([("events", JSONWriter.array(list))]))
        return text(Envelope(event: EventName.watchlistEvents, data: data))
    }
}

extension PusherTestServer.Dialect.Cache {
    func replays(_ base: ChannelKind.Base) -> Bool {
        switch replay {
        case .all: true
        case .unencryptedChannels: base != .privateEncrypted
        case .publicChannels: base == .public
        case .none: false
        }
    }
}
