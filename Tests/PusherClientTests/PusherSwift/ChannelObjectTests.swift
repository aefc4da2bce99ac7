import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Channel objects", .limited)
struct ChannelObjectTests {
    let world = VirtualWorld()

    @Test(
        "subscribe(_:) keeps the closure for the number of subscriptions of a presence channel (PusherSwift drops it)"
    )
    func subscriptionCount() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(user: "ada"))
        let counts = Log<Int>()
        let channel = pusher.subscribe("presence-room", onSubscriptionCountChanged: { counts.append($0) })
        await world.runUntil { channel.subscribed }
        let data = #"{"subscription_count":7}"#
        world.server.sendEvent("pusher_internal:subscription_count", data: data, channel: "presence-room")
        await world.run()
        #expect(counts.elements == [7])
        #expect(channel.subscriptionCount == 7)
    }

    @Test("the closures of a later subscribe(_:) replace earlier ones (PusherSwift ignores them)")
    func laterClosures() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(user: "ada"))
        let told = Log<String>()
        let room = pusher.subscribe("presence-room", onMemberAdded: { _ in told.append("first") })
        await world.runUntil { room.subscribed }
        let again = pusher.subscribe(
            "presence-room",
            onMemberAdded: { told.append("+\($0.userId)") },
            onMemberRemoved: { told.append("-\($0.userId)") },
            onSubscriptionCountChanged: { told.append("\($0)") }
        )
        #expect(room == again)
        for (event, data) in [
            ("member_added", #"{"user_id":"bob"}"#), ("member_removed", #"{"user_id":"bob"}"#),
            ("subscription_count", #"{"subscription_count":7}"#),
        ] {
            world.server.sendEvent("pusher_internal:\(event)", data: data, channel: "presence-room")
        }
        await world.run()
        #expect(told.elements == ["+bob", "-bob", "7"])
    }

    @Test(
        "after a reconnect an event calls a callback once, and a later channel does not call it (PusherSwift 116, 118)"
    )
    func handlers() async throws {
        let pusher = try await world.makeConnectedClient()
        let calls = Log<String>()
        let old = pusher.subscribe("orders")
        old.bind(eventName: "e") { _ in calls.append("old") }
        await world.run()
        world.network.cutLinks()
        await world.advance(by: .seconds(1))
        try world.server.publish(event: "e", data: "1", to: "orders")
        await world.run()
        #expect(calls.take() == ["old"])
        pusher.unsubscribe("orders")
        let new = pusher.subscribe("orders")
        new.bind(eventName: "e") { _ in calls.append("new") }
        old.bind(eventName: "e") { _ in calls.append("bound too late") }
        await world.run()
        try world.server.publish(event: "e", data: "2", to: "orders")
        await world.run()
        #expect(calls.elements == ["new"])
    }

    enum Absence: CaseIterable { case notConnectedYet, lost, disconnected }

    @Test(
        "a channel that is unsubscribed without a connection stays unsubscribed (PusherSwift 433)",
        arguments: Absence.allCases
    )
    func unsubscribedOffline(absence: Absence) async throws {
        let pusher = world.makeClient()
        pusher.subscribe("orders")
        if absence != .notConnectedYet {
            pusher.connect()
            await world.run()
            if absence == .lost { world.network.cutLinks() } else { pusher.disconnect() }
            await world.run()
        }
        let earlier = world.server.receivedMessages().count
        pusher.unsubscribe("orders")
        #expect(pusher.connection.channels.channels.isEmpty)
        pusher.connect()
        await world.run()
        #expect(pusher.connection.connectionState == .connected)
        #expect(world.server.receivedMessages().count == earlier)
    }
}
