import ClientTestSupport
import PusherTestServer
import TestSupport
import Testing

@testable import PusherClient

@Suite("Liveness", .timeLimit(.minutes(5)), .overEachTransport)
struct LivenessTests {
    let world = VirtualWorld()

    private var pings: Int { world.server.receivedMessages().count { $0.contains("pusher:ping") } }

    @Test("after the activity timeout a ping, after the pong timeout a reconnect: exact to the nanosecond")
    func silence() async throws {
        let pusher = try await world.makeConnectedClient()
        world.server.goSilent()
        await world.advance(by: .seconds(120) - .nanoseconds(1))
        #expect(pings == 0)
        await world.advance(by: .nanoseconds(1))
        #expect(pings == 1)
        await world.advance(by: .seconds(30) - .nanoseconds(1))
        #expect(pusher.connection.connectionState == .connected)
        await world.advance(by: .nanoseconds(1))
        #expect(pusher.connection.connectionState == .reconnecting)
    }

    @Test("a pong timeout closes the socket, and the client reconnects (PusherSwift stays connected)")
    func pongTimeoutClosesTheSocket() async throws {
        let delegate = RecordingDelegate()
        let pusher = try await world.makeConnectedClient()
        pusher.delegate = delegate
        let first = pusher.connection.socketId
        world.network.blackHoleLinks()
        await world.advance(by: .seconds(150))
        #expect(try await world.leftovers(of: pusher).sockets == 0)
        #expect(delegate.errors.elements.map(\.clientError.code) == [.pongTimedOut])
        await world.advance(by: .seconds(1))
        #expect(pusher.connection.connectionState == .connected)
        #expect(pusher.connection.socketId != first)
    }

    @Test("a pong, or any other message, is a sign of life", arguments: ["pong", "event"])
    func signsOfLife(kind: String) async throws { try await live(by: kind) }

    @Test("a WebSocket ping is a sign of life", .ofWebSocketOnly)
    func webSocketPing() async throws { try await live(by: "webSocketPing") }

    private func live(by kind: String) async throws {
        let pusher = try await world.makeConnectedClient()
        if kind != "pong" { world.server.goSilent() }
        for _ in 1...5 {
            await world.advance(by: .seconds(120))
            switch kind {
            case "event": world.server.sendEvent("any")
            case "webSocketPing": world.server.sendWebSocketPing()
            default: break
            }
            await world.run()
        }
        #expect(pusher.connection.connectionState == .connected)
        #expect(pings == 5)
    }

    @Test("incoming frames prevent pings, and the timer is not rescheduled for each")
    func activity() async throws {
        let pusher = try await world.makeConnectedClient()
        for _ in 1...500 {
            await world.advance(by: .seconds(1))
            world.server.sendEvent("any")
            await world.run()
        }
        #expect(pings == 0)
        #expect(try await world.leftovers(of: pusher) == Leftovers(timers: 1, sockets: 1))
    }

    @Test(
        "the activity timeout is the smaller of the option and the server's",
        arguments: [(nil, 30, 30), (10, 30, 10), (60, 30, 30), (nil, nil, 120), (nil, 0, 120), (nil, 4_000, 120)]
            as [(Double?, Int?, Int)]
    )
    func activityTimeout(option: Double?, server: Int?, expected: Int) async throws {
        world.server.setActivityTimeout(server)
        let pusher = try await world.makeConnectedClient(.virtual(activityTimeout: option))
        await world.advance(by: .seconds(expected) - .nanoseconds(1))
        #expect(pings == 0)
        await world.advance(by: .nanoseconds(1))
        #expect(pings == 1)
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test(
        "with short timeouts, by options or by properties, a silent loss is a short outage (PusherSwift 455, 130)",
        arguments: [true, false]
    )
    func shortTimeouts(byOptions: Bool) async throws {
        let timeouts = PusherTimeouts(pong: .seconds(2))
        let pusher = world.makeClient(byOptions ? .virtual(activityTimeout: 5, timeouts: timeouts) : .virtual())
        if !byOptions {
            pusher.connection.activityTimeoutInterval = 5
            pusher.connection.pongResponseTimeoutInterval = 2
        }
        pusher.connect()
        await world.run()
        world.network.blackHoleLinks()
        await world.advance(by: .seconds(7) - .nanoseconds(1))
        #expect(pusher.connection.connectionState == .connected)
        await world.advance(by: .nanoseconds(1))
        #expect(pusher.connection.connectionState == .reconnecting)
        await world.advance(by: .seconds(1))
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test("pusher:ping is answered with pusher:pong, and reaches no handler (PusherSwift does neither)")
    func ping() async throws {
        let pusher = try await world.makeConnectedClient()
        let events = Log<PusherEvent>()
        pusher.bind { events.append($0) }
        world.server.sendPing()
        await world.advance(by: .seconds(31))
        #expect(world.server.receivedMessages().contains { $0.contains(#""pusher:pong""#) })
        #expect(pusher.connection.connectionState == .connected)
        #expect(events.elements.isEmpty)
    }

    @Test("after a suspension the client checks the connection at its next input")
    func suspension() async throws {
        let pusher = try await world.makeConnectedClient()
        world.suspend(for: .seconds(8 * 3_600))
        pusher.subscribe("orders")
        await world.run()
        #expect(pings == 1)
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test("after a suspension a client event checks the connection too", arguments: [false, true])
    func suspensionBeforeClientEvent(isAwaited: Bool) async throws {
        let pusher = try await world.makeConnectedClient(
            .virtual(authMethod: .inline(secret: world.server.options.application.secret))
        )
        let channel = pusher.subscribe("private-orders")
        try await world.complete { try await channel.subscribed() }
        world.suspend(for: .seconds(8 * 3_600))
        if isAwaited {
            try await world.complete { try await channel.send("client-seen", data: "1") }
        } else {
            channel.trigger(eventName: "client-seen", data: "1")
        }
        await world.run()
        #expect(pings == 1)
    }

    @Test("after a suspension that the server did not survive, checkConnection() reconnects within seconds")
    func suspendedServerGone() async throws {
        let pusher = try await world.makeConnectedClient()
        let channel = pusher.subscribe("orders")
        await world.run()
        world.server.goSilent(.socket(try #require(pusher.connection.socketId)))
        world.suspend(for: .seconds(8 * 3_600))
        pusher.checkConnection()
        await world.advance(by: .seconds(5))
        await world.advance(by: .seconds(1))
        #expect(pusher.connection.connectionState == .connected)
        #expect(channel.subscribed)
    }

    @Test("a suspension while connecting ends the attempt at its timeout, and another one succeeds")
    func suspendedWhileConnecting() async throws {
        world.network.failLinks(1, with: .blackHole)
        let pusher = world.makeClient()
        pusher.connect()
        await world.run()
        world.suspend(for: .seconds(3_600))
        pusher.checkConnection()
        #expect(pusher.connection.connectionState == .connecting)
        await world.advance(by: .seconds(15))
        await world.advance(by: .seconds(1))
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test("a suspension between a subscription and its answer fails the subscription at its timeout")
    func suspendedWhileSubscribing() async throws {
        let pusher = try await world.makeConnectedClient()
        world.server.goSilent()
        let channel = pusher.subscribe("orders")
        let errors = Log<PusherClientError>()
        let sequence = pusher.errors
        let task = Task { for await error in sequence { errors.append(error) } }
        await world.run()
        world.suspend(for: .seconds(3_600))
        await world.advance(by: .seconds(10))
        await world.runUntil { !errors.elements.isEmpty }
        #expect(errors.elements.first?.code == .subscriptionTimedOut)
        #expect(!channel.subscribed)
        task.cancel()
    }

    @Test("a clock that goes back changes nothing")
    func clockBack() async throws {
        let pusher = try await world.makeConnectedClient()
        world.suspend(for: .seconds(-3_600))
        pusher.subscribe("orders")
        await world.run()
        #expect(pings == 0)
        #expect(pusher.connection.connectionState == .connected)
        await world.advance(by: .seconds(120))
        #expect(pings == 1)
        await world.advance(by: .seconds(60))
        #expect(pusher.connection.connectionState == .connected)
    }
}
