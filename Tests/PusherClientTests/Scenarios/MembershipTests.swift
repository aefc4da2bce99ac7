import Foundation
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Presence channels", .limited, .overEachTransport)
struct MembershipTests {
    let world = VirtualWorld()

    /// Returns a client that has subscribed to `presence-room` as a user, and the channel.
    private func join(_ user: String, info: String? = nil) async throws -> (Pusher, PusherPresenceChannel) {
        let pusher = try await world.makeConnectedClient(.virtual(user: user, info: info))
        let channel = pusher.subscribeToPresenceChannel(channelName: "presence-room")
        await world.runUntil { channel.subscribed }
        return (pusher, channel)
    }

    @Test("a presence channel has its members, this client's own member, and their information")
    func members() async throws {
        let (_, ada) = try await join("ada", info: #"{"age":36}"#)
        let (_, bob) = try await join("bob")
        await world.run()
        #expect(ada.members.map(\.userId).sorted() == ["ada", "bob"])
        #expect(bob.members.map(\.userId).sorted() == ["ada", "bob"])
        #expect(bob.myId == "bob")
        #expect(bob.me()?.userId == "bob")
        struct Info: Decodable, Equatable { var age: Int }
        #expect(try bob.findMember(userId: "ada")?.decodeUserInfo(as: Info.self) == Info(age: 36))
        #expect((bob.findMember(userId: "ada")?.userInfo as? [String: Any])?["age"] as? Int == 36)
        #expect(bob.findMember(userId: "eve") == nil)
    }

    @Test("a member's information is decoded from the text that the server sent")
    func exactInformation() async throws {
        struct Info: Decodable, Equatable {
            var id: UInt64
            var price: Decimal
        }
        let info = #"{"id":18446744073709551615,"price":0.12345678901234567890123,"id":1}"#
        let (_, first) = try await join("first")
        let (_, _) = try await join("ada", info: info)
        // This client gets the member in the list, and the first one gets the event.
        let (_, last) = try await join("last")
        await world.run()
        let price = try #require(Decimal(string: "0.12345678901234567890123"))
        for room in [first, last] {
            let ada = try #require(room.findMember(userId: "ada"))
            #expect(try ada.decodeUserInfo(as: Info.self) == Info(id: .max, price: price))
            // As with `JSONSerialization`, the last of equal keys counts.
            #expect((ada.userInfo as? [String: Any])?["id"] as? Int == 1)
            #expect(room.members.count == 3)
        }
    }

    @Test("closures, events and a sequence report each user who joins or leaves once")
    func changes() async throws {
        let (pusher, room) = try await join("ada")
        await world.endHolding()
        let told = Log<String>()
        room.onMemberAdded = { told.append("+\($0.userId)") }
        room.onMemberRemoved = { told.append("-\($0.userId)") }
        room.bind { told.append("\($0.eventName) \($0.data ?? "")") }
        var changes = room.memberships.makeAsyncIterator()
        let (bob, _) = try await join("bob")
        let (again, _) = try await join("bob")
        await world.run()
        again.disconnect()
        bob.disconnect()
        await world.letServerNotice()
        #expect(
            told.elements == [
                "+bob", #"pusher:member_added {"id":"bob","info":null}"#, "-bob",
                #"pusher:member_removed {"id":"bob","info":null}"#,
            ]
        )
        guard case .added(let added)? = await changes.next(), case .removed(let removed)? = await changes.next() else {
            Issue.record("other changes came")
            return
        }
        #expect([added.userId, removed.userId] == ["bob", "bob"])
        withExtendedLifetime(pusher) {}
    }

    @Test("the members after a reconnect are correct, and the channel reports the changes (PusherSwift 370)")
    func reconnect() async throws {
        let (pusher, room) = try await join("ada")
        let (bob, _) = try await join("bob")
        await world.endHolding()
        let told = Log<String>()
        room.onMemberAdded = { told.append("+\($0.userId)") }
        room.onMemberRemoved = { told.append("-\($0.userId)") }
        var changes = room.memberships.makeAsyncIterator()
        let socketID = try #require(pusher.connection.socketId)
        world.server.dropConnections(.socket(socketID))
        await world.run()
        #expect(room.members.isEmpty)
        #expect(room.me() == nil)
        let bobsSocketID = try #require(bob.connection.socketId)
        bob.disconnect()
        // The test drops the connection, because over HTTP the server would notice a disconnect later.
        world.server.dropConnections(.socket(bobsSocketID))
        let (_, _) = try await join("eve")
        await world.advance(by: .seconds(1))
        await world.runUntil { room.subscribed }
        #expect(room.members.map(\.userId).sorted() == ["ada", "eve"])
        #expect(told.elements == ["-bob", "+eve"])
        guard case .replaced(let members, let added, let removed)? = await changes.next() else {
            Issue.record("another change came")
            return
        }
        #expect(members.map(\.userId).sorted() == ["ada", "eve"])
        #expect(added.map(\.userId) == ["eve"])
        #expect(removed.map(\.userId) == ["bob"])
    }

    @Test("the list contains the members when the client reports the success")
    func membersAtSuccess() async throws {
        _ = try await join("bob")
        let pusher = try await world.makeConnectedClient(.virtual(user: "ada"))
        let counts = Log<Int>()
        let channel = try await world.atOnce {
            let channel = pusher.subscribeToPresenceChannel(channelName: "presence-room")
            channel.bind(eventName: "pusher:subscription_succeeded") { _ in counts.append(channel.members.count) }
            return channel
        }
        await world.runUntil { channel.subscribed }
        await world.run()
        #expect(counts.elements == [2])
    }

    @Test(
        "the client subscribes with every format of members that servers send, valid or not",
        arguments: [
            (#"{"presence":{"count":1,"ids":[1],"hash":{"1":null}}}"#, ["1"]),
            (#"{"presence":{"count":2,"ids":["0","1"],"hash":[{"name":"A"},null]}}"#, ["0", "1"]),
            (#"{"presence":{"count":0,"ids":[],"hash":[]}}"#, []),
            (#"{"presence":{"hash":{"a":{},"b":1}}}"#, ["a", "b"]),
            (#"{"presence":{"ids":["a","a",{}]}}"#, ["a"]), ("{}", []), ("[]", []), ("", []),
            (#"{"presence":7}"#, []), (#"{"presence":{"ids":7,"hash":"x"}}"#, []),
        ]
    )
    func malformed(data: String, ids: [String]) async throws {
        world.server.failSubscriptions(to: "presence-room", with: .unanswered)
        let pusher = try await world.makeConnectedClient(.virtual(user: "ada"))
        let channel = pusher.subscribeToPresenceChannel(channelName: "presence-room")
        await world.runUntil { world.server.receivedMessages().contains { $0.contains("pusher:subscribe") } }
        world.server.sendEvent("pusher_internal:subscription_succeeded", data: data, channel: "presence-room")
        await world.run()
        #expect(channel.subscribed)
        #expect(channel.members.map(\.userId) == ids)
        for data in [#"{"user_info":{}}"#, #"{"user_id":null}"#, #"{"user_id":{}}"#, "x", #"{"user_id":""}"#] {
            world.server.sendEvent("pusher_internal:member_added", data: data, channel: "presence-room")
            world.server.sendEvent("pusher_internal:member_removed", data: data, channel: "presence-room")
        }
        world.server.sendEvent("pusher_internal:member_added", data: #"{"user_id":100}"#, channel: "presence-room")
        await world.run()
        #expect(channel.members.map(\.userId) == ids + ["100"])
    }

    @Test("a presence subscription with another kind of name returns an empty channel, and the client reports an error")
    func wrongName() async throws {
        let pusher = try await world.makeConnectedClient()
        let channel = pusher.subscribeToPresenceChannel(channelName: "room")
        #expect(channel.members.isEmpty)
        let error = await #expect(throws: SubscriptionError.self) {
            try await world.complete { try await channel.subscribed() }
        }
        #expect(error?.code == .invalidChannelName)
        #expect(pusher.connection.channels.channels.isEmpty)
        #expect(pusher.subscribe("presence-room") is PusherPresenceChannel)
        #expect(pusher.connection.channels.findPresence(name: "presence-room") != nil)
    }
}
