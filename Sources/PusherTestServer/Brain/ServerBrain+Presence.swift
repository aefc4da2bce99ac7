import PusherProtocol

/// A user on a presence channel.
struct PresenceMember: Hashable, Sendable {
    let userID: String
    /// Whether the authorization contains the id as a number.
    let isNumber: Bool
    /// JSON text.
    let info: String?
    /// Oldest subscription first.
    var connections: [ConnectionID] = []
}

/// The users on presence channels (protocol clause 5).
extension ServerBrain {
    /// - Parameter data: The `data` of the subscription.
    func presenceMember(
        of id: ConnectionID,
        on channel: String,
        _ data: JSONValue?
    ) throws(SubscriptionRefusal) -> PresenceMember {
        let member: PresenceMember
        switch data?["channel_data"] {
        case .string(let text):
            member = try Self.presenceMember(text, on: channel)
        case nil, .null:
            guard let user = connections[id]?.user else {
                throw Self.refusal(channel, "channel_data with a user_id is required")
            }
            member = PresenceMember(userID: user.id, isNumber: false, info: user.info)
        default:
            throw Self.refusal(channel, "channel_data must be a string")
        }
        try checkMember(member, on: channel)
        return member
    }

    func checkMember(_ member: PresenceMember, on channel: String) throws(SubscriptionRefusal) {
        guard UserID.isValid(member.userID) else {
            throw Self.refusal(channel, "a user_id must have 1 to \(UserID.maximumLength) bytes")
        }
        guard member.info?.utf8.count ?? 0 <= options.maximumUserInfoSize else {
            let message = "The maximum size for a channel member is \(options.maximumUserInfoSize) bytes, on \(channel)"
            throw SubscriptionRefusal(message: message, type: "LimitReached", status: 4301)
        }
        let present = members[channel] ?? []
        let isPresent = present.contains { $0.userID.hasSameBytes(as: member.userID) }
        guard isPresent || present.count < options.maximumMemberCount else {
            throw SubscriptionRefusal(
                message: "The maximum members per presence channel limit was reached on \(channel)",
                type: "LimitReached",
                status: 4100
            )
        }
    }

    private static func presenceMember(_ text: String, on channel: String) throws(SubscriptionRefusal) -> PresenceMember
    {
        guard let data = JSONMembers(parsing: text) else { throw refusal(channel, "channel_data is not a JSON object") }
        guard let value = data.value("user_id"), let userID = value.identifier else {
            throw refusal(channel, "channel_data has no user_id that is a string or a number")
        }
        return PresenceMember(userID: userID, isNumber: value.string == nil, info: data.text("user_info"))
    }

    private static func refusal(_ channel: String, _ message: String) -> SubscriptionRefusal {
        SubscriptionRefusal(message: "Invalid subscription to presence channel \(channel): \(message)")
    }

    // MARK: Coming and going

    /// Adds a new subscriber to the members. The caller has already added the connection to `subscribers`.
    mutating func join(_ channel: String, as newcomer: PresenceMember, on id: ConnectionID) {
        let presence = dialect.presence
        var roster = members[channel] ?? []
        if presence.succeedsBeforeJoining {
            say(dialect.subscriptionSucceeded(channel: channel, members: roster), to: id)
        }
        let index = roster.firstIndex { $0.userID.hasSameBytes(as: newcomer.userID) }
        if let index {
            roster[index].connections.append(id)
        } else {
            var member = newcomer
            member.connections = [id]
            roster.append(member)
        }
        members[channel] = roster
        if !presence.succeedsBeforeJoining {
            say(dialect.subscriptionSucceeded(channel: channel, members: roster), to: id)
        }
        if index == nil { noteArrival(of: newcomer.userID, on: channel, id) }
        guard index == nil || presence.sharedUser == .announcedAgain else { return }
        let text = dialect.memberAdded(channel: channel, newcomer)
        for other in subscribers[channel] ?? [] where other != id || presence.succeedsBeforeJoining {
            say(text, to: other)
        }
    }

    /// Updates the members after a subscriber has left the channel.
    mutating func leavePresence(_ channel: String, on id: ConnectionID) {
        guard let index = members[channel]?.firstIndex(where: { $0.connections.contains(id) }),
            var member = members[channel]?[index]
        else { return }
        member.connections.removeAll { $0 == id }
        let isLast = member.connections.isEmpty
        if isLast {
            members[channel]?.remove(at: index)
            if members[channel]?.isEmpty == true { members[channel] = nil }
            noteDeparture(of: member.userID, from: channel, id)
        } else {
            members[channel]?[index] = member
        }
        guard isLast || dialect.presence.sharedUser == .announcedAgain else { return }
        let text = dialect.memberRemoved(channel: channel, member)
        for other in subscribers[channel] ?? [] { say(text, to: other) }
    }

    private mutating func noteArrival(of userID: String, on channel: String, _ id: ConnectionID) {
        record(.memberJoined(channel: channel, userID: userID), id)
        noteMemberAdded(userID, on: channel)
    }

    private mutating func noteDeparture(of userID: String, from channel: String, _ id: ConnectionID) {
        record(.memberLeft(channel: channel, userID: userID), id)
        noteMemberRemoved(userID, from: channel)
    }

    package func presenceMembers(of channel: String) -> [PusherTestServer.Member] {
        (members[channel] ?? []).map { PusherTestServer.Member(userID: $0.userID, userInfo: $0.info) }
    }
}
