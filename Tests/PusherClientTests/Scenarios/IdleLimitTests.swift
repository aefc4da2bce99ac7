import Logging
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Idle limits of servers and proxies", .limited, .overEachTransport)
struct IdleLimitTests {
    typealias IdleLimit = PusherTestServer.Dialect.IdleLimit

    private static let endings: [IdleLimit.Ending] = [
        .drop, .close(code: 1000), .close(code: nil),
    ]

    @Test(
        "an idle limit costs two connections until the client pings often enough, and a third one for a test",
        arguments: [2, 3, 10, 30, 60],
        endings
    )
    func limits(seconds: Int, ending: IdleLimit.Ending) async throws {
        let world = VirtualWorld()
        world.server.setIdleLimit(.init(.seconds(seconds), ending: ending))
        let pusher = try await world.makeConnectedClient()
        let channel = pusher.subscribe("orders")
        await world.advance(by: .seconds(min(60 * seconds, 600)))
        #expect(world.connectionCount <= 4)
        #expect(channel.subscribed)
        let interval = try #require(pusher.statistics.pings.keepAliveInterval)
        #expect(interval >= .seconds(1) && interval < .seconds(seconds))
    }

    @Test("an idle limit that equals the activity timeout costs at most three connections", arguments: [120, 30, 5])
    func equal(seconds: Int) async throws {
        let world = VirtualWorld()
        world.server.setActivityTimeout(seconds)
        world.server.setIdleLimit(.init(.seconds(seconds)))
        let pusher = try await world.makeConnectedClient()
        await world.advance(by: .seconds(600))
        #expect(world.connectionCount <= 4)
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test("poxa's idle limit costs two connections in an hour")
    func poxa() async throws {
        var options = PusherTestServer.Options()
        options.dialect = .poxa
        let world = VirtualWorld(options)
        let pusher = try await world.makeConnectedClient()
        await world.advance(by: .seconds(3_600))
        #expect(world.connectionCount == 3)
        #expect(pusher.connection.connectionState == .connected)
        #expect(pusher.statistics.pings.keepAliveInterval == .seconds(60))
    }

    @Test(
        "the client pings despite incoming events, which do not reset the server's idle limit",
        arguments: [10, 60, 200]
    )
    func stream(seconds: Int) async throws {
        let world = VirtualWorld()
        world.server.setIdleLimit(.init(.seconds(seconds)))
        let pusher = try await world.makeConnectedClient()
        for _ in 1...600 {
            await world.advance(by: .seconds(1))
            world.server.sendEvent("any")
            await world.run()
        }
        #expect(world.connectionCount <= 4)
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test("the client learns no idle limit from random losses of connections that have held long enough")
    func flaky() async throws {
        let world = VirtualWorld()
        world.server.setActivityTimeout(30)
        let pusher = try await world.makeConnectedClient()
        var generator = SeededGenerator(seed: 5)
        for _ in 1...50 {
            await world.advance(by: .milliseconds(Int.random(in: 31_000...200_000, using: &generator)))
            world.network.cutLinks()
            await world.advance(by: .seconds(1))
            #expect(pusher.connection.connectionState == .connected)
        }
        #expect(pusher.statistics.pings.keepAliveInterval == nil)
    }

    @Test("the client soon stops its pings after random early losses if the next connection holds")
    func veryFlaky() async throws {
        let world = VirtualWorld()
        let pusher = try await world.makeConnectedClient()
        for seconds in [2, 9, 3, 14, 4, 40, 5, 1, 8] {
            await world.advance(by: .seconds(seconds))
            world.network.cutLinks()
            await world.advance(by: .seconds(1))
            #expect(pusher.connection.connectionState == .connected)
        }
        let before = pusher.statistics.pings.sent
        await world.advance(by: .seconds(3_600))
        #expect(pusher.statistics.pings.keepAliveInterval == nil)
        #expect(pusher.statistics.pings.sent - before <= 60 + 30)
    }

    @Test("with an idle limit of 3 s, the client needs at most seven connections in six hours")
    func longRun() async throws {
        let world = VirtualWorld()
        world.server.setIdleLimit(.init(.seconds(3)))
        let pusher = try await world.makeConnectedClient()
        await world.advance(by: .seconds(3_600))
        #expect(pusher.statistics.connections.established <= 5)
        // Six hours take many seconds of CPU, and the client learns the limit in the same way over each transport.
        if world.transport == .webSocket { await world.advance(by: .seconds(5 * 3_600)) }
        #expect(pusher.statistics.connections.established <= 7)
    }

    @Test("the log reports a new ping interval once, at the debug level")
    func logged() async throws {
        let world = VirtualWorld()
        let lines = LogLines()
        world.server.setIdleLimit(.init(.seconds(30)))
        let pusher = try await world.makeConnectedClient(.virtual(logger: lines.logger(.debug)))
        await world.advance(by: .seconds(100))
        pusher.reconnectNow()
        await world.run()
        let lessons = lines.messages.filter { $0.contains("pinging after") }
        #expect(lessons.count == 1)
        #expect(lessons.first?.contains("15.0 seconds") == true && lessons.first?.contains("30.0 seconds") == true)
        #expect(pusher.statistics.pings.keepAliveInterval == .seconds(15))
        world.server.setIdleLimit(nil)
        await world.advance(by: .seconds(60 * 15))
        #expect(lines.messages.last { $0.contains("pinging after") }?.contains("the activity timeout only") == true)
    }
}

extension VirtualWorld {
    fileprivate var connectionCount: Int { server.records.count { $0.event == .connectionAccepted } }
}
