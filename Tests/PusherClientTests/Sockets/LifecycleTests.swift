import PusherTestServer
import TestSupport
import Testing

@testable import PusherClient

@Suite("Impatient applications, on real sockets", .timeLimit(.minutes(5)))
struct LifecycleTests {
    @Test("a connection that is dead is found out at once, long before its timeouts, and made anew")
    func checkConnection() async throws {
        try await PusherTestServer.withServer { server in
            let pusher = Pusher(server)
            let channel = pusher.subscribe("orders")
            var errors = pusher.errors.makeAsyncIterator()
            var events = channel.events(named: "after").makeAsyncIterator()
            var resubscriptions = channel.resubscriptions.makeAsyncIterator()
            let socketID = try await pusher.connected()
            try await channel.subscribed()
            pusher.checkConnection(timeout: .patience)
            try await server.nextRecord(timeout: .patience) { record in
                guard case .messageReceived(let text) = record.event else { return false }
                return text.contains("pusher:ping")
            }
            // The pong, which counts as an answer to the next ping too, has come when this has.
            try server.publish(event: "after", data: "", to: "orders")
            #expect(await events.next() != nil)
            server.goSilent(.socket(socketID))
            pusher.checkConnection(timeout: .milliseconds(100))
            #expect(await errors.next()?.code == .pongTimedOut)
            #expect(await resubscriptions.next() != nil)
            await pusher.disconnected()
        }
    }

    @Test("reconnecting at once gives another connection, with the same channels")
    func reconnectNow() async throws {
        try await PusherTestServer.withServer { server in
            let pusher = Pusher(server)
            let channel = pusher.subscribe("orders")
            var resubscriptions = channel.resubscriptions.makeAsyncIterator()
            let socketID = try await pusher.connected()
            try await channel.subscribed()
            pusher.reconnectNow()
            #expect(pusher.connection.connectionState == .connecting)
            #expect(await resubscriptions.next() != nil)
            #expect(try await pusher.connected() != socketID)
            await pusher.disconnected()
        }
    }

    @Test("a channel that was refused is subscribed when the reason is gone; the members come once more")
    func resubscribe() async throws {
        try await PusherTestServer.withServer { server in
            let pusher = Pusher(
                server,
                authMethod: .endpoint(server.httpURL + "/pusher/auth", parameters: ["user_id": "ada"])
            )
            server.failAuthorizations(with: .status(403, body: "no"))
            let room = pusher.subscribeToPresenceChannel(channelName: "presence-room")
            var memberships = room.memberships.makeAsyncIterator()
            try await pusher.connected()
            await #expect(throws: SubscriptionError.self) { try await room.subscribed() }
            server.acceptAuthorizations()
            room.resubscribe()
            try await room.subscribed()
            #expect(room.me()?.userId == "ada")
            #expect(await memberships.next()?.memberCount == 1)
            room.resubscribe()
            #expect(!room.subscribed)
            try await room.subscribed()
            #expect(await memberships.next()?.memberCount == 1)
            try await server.nextRecord(timeout: .patience) { $0.event == .unsubscribed(channel: "presence-room") }
            await pusher.disconnected()
        }
    }
}

extension MembershipChange {
    fileprivate var memberCount: Int? {
        guard case .replaced(let members, _, _) = self else { return nil }
        return members.count
    }
}
