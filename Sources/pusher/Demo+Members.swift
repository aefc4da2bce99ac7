import PusherClient

struct Message: Codable, Sendable {
    var text: String
}

/// The parts of the demo with two users on presence and private channels.
extension Demo {
    /// Subscribes both users to the room, and returns ada's channel.
    func meet(_ ada: Pusher, _ bob: Pusher) async throws -> PusherPresenceChannel {
        let room = ada.subscribeToPresenceChannel(channelName: "presence-room")
        var changes = room.memberships.makeAsyncIterator()
        try await room.subscribed()
        try timeline.note(.ada, "is in \(room.name) as \(room.myId ?? "nobody"), with \(names(room.members))")

        try await bob.connected()
        let same = bob.subscribeToPresenceChannel(channelName: "presence-room")
        try await same.subscribed()
        try timeline.note(.bob, "is in \(same.name), with \(names(same.members))")
        // The first change is the list of members, unless the list arrived before this method made the sequence.
        var member: PusherPresenceChannelMember?
        while member == nil, let change = await changes.next() {
            if case .added(let added) = change { member = added }
        }
        guard let member else { throw ExitMessage("Demo failed: ada did not see bob join.") }
        try timeline.note(.ada, "sees \(member.userId) join: now \(names(room.members))")
        return room
    }

    func talk(_ ada: Pusher, _ bob: Pusher) async throws {
        let (here, there) = (ada.subscribe("private-chat"), bob.subscribe("private-chat"))
        var messages = here.values(named: "client-message", as: Message.self).makeAsyncIterator()
        try await here.subscribed()
        try await there.subscribed()
        try timeline.note(.bob, "sends client-message on \(there.name)")
        try await there.send("client-message", data: Message(text: "hello, ada"))
        guard let message = await messages.next() else { throw ExitMessage("Demo failed: the message did not arrive.") }
        try timeline.note(.ada, "got the message: \(message.text)")
    }

    func leave(_ bob: Pusher, seenIn room: PusherPresenceChannel) async throws {
        var changes = room.memberships.makeAsyncIterator()
        await bob.disconnected()
        guard case .removed(let member)? = await changes.next() else {
            throw ExitMessage("Demo failed: ada did not see bob leave.")
        }
        try timeline.note(.ada, "sees \(member.userId) leave: now \(names(room.members))")
    }

    private func names(_ members: [PusherPresenceChannelMember]) -> String {
        members.map(\.userId).sorted().joined(separator: ", ")
    }
}
