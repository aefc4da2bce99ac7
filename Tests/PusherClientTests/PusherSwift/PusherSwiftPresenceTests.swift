import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

/// PusherSwift's tests of presence channels.
@Suite("PusherSwift: presence channels", .limited)
struct PusherSwiftPresenceTests {
    private static let name = "presence-test"

    let world = VirtualWorld()

    /// Returns a client that has subscribed with its own signature, and the channel.
    private func subscribed(
        as member: PusherPresenceChannelMember? = nil
    ) async throws -> (Pusher, PusherPresenceChannel) {
        let method = AuthMethod.inline(secret: world.server.options.application.secret)
        let pusher = try await world.makeConnectedClient(.virtual(authMethod: method))
        if let member { pusher.connection.userDataFetcher = { member } }
        let channel = pusher.subscribeToPresenceChannel(channelName: Self.name)
        await world.runUntil { channel.subscribed }
        return (pusher, channel)
    }

    private func send(_ event: String, _ data: String) async {
        world.server.sendEvent("pusher_internal:\(event)", data: data, channel: Self.name)
        await world.run()
    }

    @Test(
        "the client subscribes as the user from userDataFetcher, with the user's information",
        arguments: [
            (PusherPresenceChannelMember(userId: "123"), #"{\"user_id\":\"123\"}"#),
            (
                PusherPresenceChannelMember(userId: "123", userInfo: ["friends": 0]),
                #"{\"user_id\":\"123\",\"user_info\":{\"friends\":0}}"#
            ),
        ]
    )
    func fetched(member: PusherPresenceChannelMember, data: String) async throws {
        let (_, channel) = try await subscribed(as: member)
        #expect(channel.members == [member])
        #expect(channel.me() == member)
        #expect(channel.myId == "123")
        #expect(world.server.receivedMessages().first?.hasSuffix(#","channel_data":"\#(data)"}}"#) == true)
        #expect(world.server.members(of: Self.name).map(\.userID) == ["123"])
    }

    @Test("the user's id is the socket id if there is no userDataFetcher")
    func socketID() async throws {
        let (pusher, channel) = try await subscribed()
        let socketID = try #require(pusher.connection.socketId)
        #expect(channel.members == [PusherPresenceChannelMember(userId: socketID)])
        #expect(world.server.members(of: Self.name).map(\.userID) == [socketID])
    }

    @Test("findPresence(name:) returns the channel as a presence channel")
    func findPresence() async throws {
        let (pusher, channel) = try await subscribed()
        #expect(pusher.connection.channels.findPresence(name: Self.name) === channel)
        #expect(pusher.connection.channels.findPresence(name: "presence-other") == nil)
    }

    @Test("the client reports a member who joins, and the list already contains the member")
    func added() async throws {
        let (_, channel) = try await subscribed()
        let found = Log<PusherPresenceChannelMember?>()
        let told = Log<PusherPresenceChannelMember>()
        channel.onMemberAdded = { [unowned channel] member in
            told.append(member)
            found.append(channel.findMember(userId: "100"))
        }
        await send("member_added", #"{"user_id":"100","user_info":{"city":"Porto"}}"#)
        let expected = PusherPresenceChannelMember(userId: "100", userInfo: ["city": "Porto"])
        #expect(told.elements == [expected])
        #expect(found.elements == [expected])
        #expect(told.elements.first?.userInfo as? [String: String] == ["city": "Porto"])
    }

    @Test(
        "the client reports a member who leaves, whether the id is a string or a number",
        arguments: [#""100""#, "100"]
    )
    func removed(id: String) async throws {
        let (_, channel) = try await subscribed()
        let told = Log<PusherPresenceChannelMember>()
        channel.onMemberRemoved = { told.append($0) }
        await send("member_added", #"{"user_id":\#(id),"user_info":{"city":"Porto"}}"#)
        #expect(channel.members.count == 2)
        await send("member_removed", #"{"user_id":\#(id)}"#)
        #expect(told.elements == [PusherPresenceChannelMember(userId: "100", userInfo: ["city": "Porto"])])
        #expect(channel.members.count == 1)
    }
}
