import PusherProtocol
import RealtimeJSON

/// The messages about the users on presence channels (protocol clause 3).
extension PusherTestServer.Dialect {
    func subscriptionSucceeded(channel: String, members: [PresenceMember]) -> String {
        let isListedTwice = presence.sharedUser == .listedTwice
        let ids = members.flatMap { member in
            Array(repeating: id(of: member), count: isListedTwice ? member.connections.count : 1)
        }
        var list = [("count", String(ids.count))]
        if presence.listsIDs { list.append(("ids", JSONWriter.array(ids))) }
        list.append(("hash", hash(members)))
        let data = JSONWriter.object([("presence", JSONWriter.object(list))])
        return text(Envelope(event: EventName.subscriptionSucceededInternal, channel: channel, data: .string(data)))
    }

    /// Returns the value of `hash` as JSON text. PHP writes a list if the keys are 0, 1, 2 and so on, or if there is no
    /// key.
    private func hash(_ members: [PresenceMember]) -> String {
        let infos = members.map { $0.info ?? presence.missingInfo.jsonText }
        let isList = zip(members.indices, members).allSatisfy { index, member in member.userID == String(index) }
        if presence.hash == .listWhereCounted, isList { return JSONWriter.array(infos) }
        return JSONWriter.object(Array(zip(members.map(\.userID), infos)))
    }

    func memberAdded(channel: String, _ member: PresenceMember) -> String {
        memberEvent(EventName.memberAddedInternal, channel, member, hasInfo: true)
    }

    func memberRemoved(channel: String, _ member: PresenceMember) -> String {
        memberEvent(EventName.memberRemovedInternal, channel, member, hasInfo: presence.tellsInfoOfLeavers)
    }

    private func memberEvent(_ event: String, _ channel: String, _ member: PresenceMember, hasInfo: Bool) -> String {
        var members = [("user_id", id(of: member))]
        if hasInfo, let info = member.info { members.append(("user_info", info)) }
        let data = presence.memberEvents.payload(JSONWriter.object(members))
        return text(Envelope(event: event, channel: channel, data: data))
    }

    private func id(of member: PresenceMember) -> String {
        member.isNumber && presence.keepsNumericIDs ? member.userID : JSONWriter.string(member.userID)
    }
}

extension PusherTestServer.Dialect.DataEncoding {
    func payload(_ jsonText: String) -> Envelope.Payload {
        switch self {
        case .object: .json(jsonText)
        case .string: .string(jsonText)
        }
    }
}

extension PusherTestServer.Dialect.Presence.MissingInfo {
    fileprivate var jsonText: String {
        switch self {
        case .null: "null"
        case .object: "{}"
        }
    }
}
