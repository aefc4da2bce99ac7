import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

/// Runs the same session with the dialect of every known server.
@Suite("Dialects", .limited, .overEachTransport)
struct DialectTests {
    static let dialects: [(String, PusherTestServer.Dialect)] = [
        ("Pusher", .pusher), ("soketi", .soketi), ("Reverb", .reverb), ("pylon", .pylon), ("ipe", .ipe),
        ("poxa", .poxa),
        ("slanger", .slanger), ("pusher-fake", .pusherFake),
    ]

    private func world(_ dialect: PusherTestServer.Dialect) -> VirtualWorld {
        var options = PusherTestServer.Options()
        options.dialect = dialect
        return VirtualWorld(options)
    }

    @Test(
        "the client subscribes, receives events, pings, reconnects and unsubscribes in every dialect",
        arguments: dialects
    )
    func life(name: String, dialect: PusherTestServer.Dialect) async throws {
        let world = world(dialect)
        let delegate = RecordingDelegate()
        // This timeout is shorter than poxa's idle limit, so poxa does not close the connection.
        let pusher = try await world.makeConnectedClient(.virtual(activityTimeout: 110))
        pusher.delegate = delegate
        let channel = pusher.subscribe("orders")
        let received = Log<String>()
        channel.bind(eventName: "created") { received.append($0.data ?? "") }
        await world.run()
        #expect(channel.subscribed)

        let data = #"{"path":"a/b","html":"<b>"}"#
        try world.server.publish(event: "created", data: data, to: "orders")
        await world.advance(by: .seconds(121))
        world.server.sendPing()
        await world.advance(by: .seconds(31))
        #expect(pusher.connection.connectionState == .connected)

        world.server.closeConnections(code: 4200)
        await world.run()
        #expect(channel.subscribed)
        try world.server.publish(event: "created", data: data, to: "orders")
        await world.run()
        #expect(received.elements == [data, data])

        pusher.unsubscribe("orders")
        await world.run()
        #expect(world.server.connections.first?.subscribedChannels == [])
        #expect(delegate.errors.elements.map(\.code) == [4200])
    }

    @Test("the client stops if the server does not know the key", arguments: dialects.filter { $0.0 != "pusher-fake" })
    func unknownKey(name: String, dialect: PusherTestServer.Dialect) async throws {
        let world = world(dialect)
        let pusher = world.makeClient(key: "unknown")
        pusher.connect()
        await world.advance(by: .seconds(60))
        guard case .refused(let error) = pusher.connection.status else {
            Issue.record("not refused: \(pusher.connection.status)")
            return
        }
        #expect(error.serverCode == 4001)
    }

    @Test("a refused subscription fails with the server's words in every dialect", arguments: dialects)
    func refusedSubscription(name: String, dialect: PusherTestServer.Dialect) async throws {
        let world = world(dialect)
        let delegate = RecordingDelegate()
        let pusher = try await world.makeConnectedClient()
        pusher.delegate = delegate
        let channel = pusher.subscribe("orders")
        await world.run()
        // The embedded server never refuses public channels, so the test sends the refusal itself.
        world.server.failSubscriptions(to: "pending", with: .unanswered)
        let pending = pusher.subscribe("pending")
        await world.run()
        switch dialect.subscriptionRefusal {
        case .error:
            world.server.sendText(
                #"{"event":"pusher:error","data":{"code":null,"message":"Auth info required to subscribe to pending"}}"#
            )
        case .unauthorized:
            world.server.sendText(
                #"{"event":"pusher:error","data":"{\"code\":4009,\"message\":\"Connection is unauthorized\"}"}"#
            )
        case .subscriptionError:
            world.server.sendText(
                #"{"event":"pusher:subscription_error","channel":"pending","data":{"type":"AuthError","error":"no","status":401}}"#
            )
        case .internalSubscriptionError:
            world.server.sendText(
                #"{"event":"pusher_internal:subscription_error","channel":"pending","data":"{}"}"#
            )
        }
        let error = await #expect(throws: SubscriptionError.self) {
            try await world.complete { try await pending.subscribed() }
        }
        #expect(error?.code == .refused)
        #expect(error?.channelName == "pending")
        #expect(delegate.failures.elements == ["pending"])
        #expect(channel.subscribed)
    }
}
