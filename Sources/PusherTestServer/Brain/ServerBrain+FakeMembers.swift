import PusherProtocol

/// Simulated members. Each member is a subscriber with a connection id, but without a connection. The brain drops
/// messages to such members, and connection faults do not affect them.
extension ServerBrain {
    /// - Parameter id: Receives the id of the new member.
    mutating func addFakeMember(
        userID: String,
        userInfo: String?,
        to channel: String,
        _ id: inout ConnectionID?
    ) throws(PusherTestServer.ServerError) -> [ServerAction] {
        guard let name = try? ChannelName(channel), name.kind.base == .presence else {
            throw Self.invalidMember(userID, "\"\(channel)\" is not the name of a presence channel")
        }
        var info: String?
        if let userInfo {
            info = JSONValue.checkedText(userInfo)
            if info == nil { throw Self.invalidMember(userID, "the user info is not JSON") }
        }
        do throws(SubscriptionRefusal) {
            let member = PresenceMember(userID: userID, isNumber: false, info: info)
            try checkMember(member, on: channel)
            let newID = makeConnectionID()
            id = newID
            fakeMembers[newID] = channel
            subscribers[channel, default: []].append(newID)
            if subscribers[channel]?.count == 1 { noteOccupied(channel) }
            join(channel, as: member, on: newID)
        } catch {
            throw Self.invalidMember(userID, error.message)
        }
        return takeActions()
    }

    private static func invalidMember(_ userID: String, _ reason: String) -> PusherTestServer.ServerError {
        .init(.invalidMember, "Member \"\(userID)\" cannot join: \(reason).")
    }

    mutating func removeFakeMember(_ id: ConnectionID, from channel: String) -> [ServerAction] {
        guard fakeMembers.removeValue(forKey: id) != nil else { return [] }
        removeSubscription(to: channel, from: id)
        return takeActions()
    }

    mutating func removeFakeMembers() -> [ServerAction] {
        for (id, channel) in fakeMembers.sorted(by: { $0.key < $1.key }) { removeSubscription(to: channel, from: id) }
        fakeMembers = [:]
        return takeActions()
    }

    /// - Parameter reached: Collects the connections that get the event.
    mutating func sendClientEvent(
        _ event: String,
        _ data: String,
        asFakeMember id: ConnectionID,
        on channel: String,
        _ reached: inout Set<ConnectionID>
    ) -> [ServerAction] {
        guard fakeMembers[id] != nil else { return [] }
        let payload = JSONValue.checkedText(data).map { Envelope.Payload.json($0) } ?? .string(data)
        let message = Envelope(event: event, channel: channel, data: payload)
        reached = relay(message, from: id, memberID(of: id, on: channel), on: channel)
        return takeActions()
    }
}
