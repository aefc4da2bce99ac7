import ClientTestSupport
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Liveness", .limited, .overEachTransport)
struct LivenessTests {
    let world = VirtualWorld()

    private var pings: Int { world.server.receivedMessages().count { $0.contains("pusher:ping") } }

    @Test("the client pings at the activity timeout and reconnects at the pong timeout, to the nanosecond")
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

    @Test("the client closes the socket at the pong timeout and reconnects (PusherSwift stays connected)")
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

    @Test("a pong or any other message counts as activity", arguments: ["pong", "event"])
    func signsOfLife(kind: String) async throws { try await live(by: kind) }

    @Test("a WebSocket ping counts as activity", .ofWebSocketOnly)
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

    @Test("incoming frames prevent pings without a new timer for each frame")
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
        "the client uses the smaller of its own and the server's activity timeout",
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
        "short timeouts in options or properties shorten the outage after a silent loss (PusherSwift 455, 130)",
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

    @Test("the client answers pusher:ping and calls no callback with it (unlike PusherSwift)")
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

    @Test("the client checks the connection at its first input after a suspension")
    func suspension() async throws {
        let pusher = try await world.makeConnectedClient()
        world.suspend(for: .seconds(8 * 3_600))
        pusher.subscribe("orders")
        await world.run()
        #expect(pings == 1)
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test("a client event after a suspension makes the client check the connection", arguments: [false, true])
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

    @Test("checkConnection() reconnects within seconds if the connection was lost during a suspension")
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

    @Test("an attempt fails at its timeout after a suspension, and the next attempt succeeds")
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

    @Test("a clock that goes back does not affect the client")
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
