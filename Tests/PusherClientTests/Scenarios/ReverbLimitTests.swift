import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

/// Tests with limits and refusals that were observed in Laravel Reverb.
@Suite("Reverb's limits and refusals", .limited, .overEachTransport)
struct ReverbLimitTests {
    private static func world(_ change: (inout PusherTestServer.Options) -> Void = { _ in }) -> VirtualWorld {
        var options = PusherTestServer.Options()
        options.dialect = .reverb
        options.maximumRecordCount = 10_000
        change(&options)
        return VirtualWorld(options)
    }

    /// Returns the time until all channels are subscribed, in steps of 100 ms, or nil if it exceeds `patience`.
    private func time(
        until channels: [PusherChannel],
        in world: VirtualWorld,
        patience: Duration = .seconds(300)
    ) async -> Duration? {
        let start = world.now
        while world.now - start <= patience {
            await world.run()
            if channels.allSatisfy(\.subscribed) { return world.now - start }
            await world.advance(by: .milliseconds(100))
        }
        return nil
    }

    private func subscribe(_ count: Int, _ pusher: Pusher, _ world: VirtualWorld) async throws -> [PusherChannel] {
        try await world.atOnce { (1...count).map { pusher.subscribe("channel-\($0)") } }
    }

    private func subscribesReceived(_ world: VirtualWorld) -> Int {
        world.server.receivedMessages().count { $0.contains("pusher:subscribe") }
    }

    // MARK: The rate limit

    @Test("The client subscribes 12 channels within 3 s at 5 messages a second, and reports one error")
    func twelve() async throws {
        let world = Self.world { $0.messageLimit = .init(count: 5) }
        let pusher = try await world.makeConnectedClient()
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        let channels = try await subscribe(12, pusher, world)
        let time = try #require(await time(until: channels, in: world))
        #expect(time <= .seconds(3))
        #expect(delegate.failures.elements == [])
        #expect(delegate.errors.elements.map(\.clientError.code) == [.serverError])
        #expect(delegate.errors.elements.first?.code == 4301)
        #expect(pusher.statistics.subscriptions.repeated == 7)
    }

    @Test(
        "The client subscribes 100 channels within 25 s, even after a reconnect",
        .ofWebSocketOnly,
        arguments: [false, true]
    )
    func hundred(dropsConnections: Bool) async throws {
        let world = Self.world { $0.messageLimit = .init(count: 5, endsConnection: dropsConnections) }
        let pusher = try await world.makeConnectedClient()
        let channels = try await subscribe(100, pusher, world)
        var time = try #require(await time(until: channels, in: world))
        #expect(time <= .seconds(25))
        world.network.cutLinks()
        await world.run()
        #expect(channels.allSatisfy { !$0.subscribed })
        time = try #require(await self.time(until: channels, in: world))
        #expect(time <= .seconds(25))
        // Without an error, the client needs two losses to learn the limit. The reconnect may not cost another one.
        #expect(pusher.statistics.connections.established == (dropsConnections ? 4 : 2))
        #expect(subscribesReceived(world) < 340)
    }

    @Test("The client subscribes 100 channels within 63 s at Reverb's default of 60 messages a minute")
    func defaults() async throws {
        let world = Self.world { $0.messageLimit = .init(count: 60, window: .seconds(60)) }
        let pusher = try await world.makeConnectedClient()
        let channels = try await subscribe(100, pusher, world)
        let time = try #require(await time(until: channels, in: world))
        #expect(time >= .seconds(60) && time <= .seconds(63))
        #expect(subscribesReceived(world) < 190)
    }

    @Test("The client learns a limit of 60 messages a minute from a few dropped connections", .ofWebSocketOnly)
    func defaultsThatDrop() async throws {
        let world = Self.world { $0.messageLimit = .init(count: 60, window: .seconds(60), endsConnection: true) }
        let pusher = try await world.makeConnectedClient()
        let channels = try await subscribe(100, pusher, world)
        _ = try #require(await time(until: channels, in: world, patience: .seconds(600)))
        let established = pusher.statistics.connections.established
        #expect(established <= 9)
        world.network.cutLinks()
        await world.run()
        _ = try #require(await time(until: channels, in: world, patience: .seconds(600)))
        #expect(pusher.statistics.connections.established == established + 1)
    }

    @Test(
        "The client learns the limit if the sign-in, or the user's own channel, exceeds it on each connection",
        .ofWebSocketOnly,
        arguments: [5, 6]
    )
    func signInBeyondLimit(count: Int) async throws {
        let world = Self.world {
            $0.dialect = .pusher
            $0.messageLimit = .init(count: count, endsConnection: true)
        }
        let pusher = try await world.makeConnectedClient(.virtual(user: "u"))
        let channels = try await world.atOnce {
            pusher.signIn()
            return (1...5).map { pusher.subscribe("channel-\($0)") }
        }
        await pass(.seconds(20), for: pusher, in: world)
        #expect(pusher.statistics.connections.established > 1)
        #expect(channels.allSatisfy { $0.subscribed } && pusher.user.isSignedIn)
        world.network.cutLinks()
        await pass(.seconds(20), for: pusher, in: world)
        #expect(pusher.statistics.connections.established <= 5)
        #expect(channels.allSatisfy { $0.subscribed } && pusher.user.isSignedIn)
    }

    /// Passes time in steps. An authorization takes no time.
    private func pass(_ time: Duration, for pusher: Pusher, in world: VirtualWorld) async {
        let start = world.now
        while world.now - start < time {
            await world.runUntil { pusher.engine.read { $0.machine.authorizations.isEmpty } }
            await world.advance(by: .milliseconds(100))
        }
    }

    @Test("If the server accepts no subscription, the client reports it once, and goes on trying")
    func forever() async throws {
        let world = Self.world { $0.messageLimit = .init(count: 0) }
        let pusher = try await world.makeConnectedClient()
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        let channels = try await subscribe(12, pusher, world)
        await world.advance(by: .seconds(100))
        #expect(delegate.subscriptionErrors.count == 12)
        #expect(delegate.subscriptionErrors.elements.allSatisfy { $0.code == .refused && $0.serverCode == 4301 })
        #expect((19..<27).contains(subscribesReceived(world)))
        await world.advance(by: .seconds(3_600))
        #expect(delegate.subscriptionErrors.count == 12)
        // Each series has eight tries, which take 92 s, and follows a wait of at most 30 s.
        #expect((19 + 8 * 29...19 + 8 * 40).contains(subscribesReceived(world)))
        for channel in channels {
            guard case .retrying(let error) = channel.subscriptionStatus else {
                Issue.record("\(channel.subscriptionStatus)")
                continue
            }
            #expect(error.serverCode == 4301)
        }
    }

    @Test("Pings beyond the limit are not reported, become rarer, and do not delay subscriptions for long")
    func pings() async throws {
        let world = Self.world { $0.messageLimit = .init(count: 20, window: .seconds(60)) }
        let pusher = try await world.makeConnectedClient()
        // The client learns from two early losses to ping every second.
        for reconnectDelay in [1, 2] {
            await world.advance(by: .seconds(2))
            world.network.cutLinks()
            await world.advance(by: .seconds(reconnectDelay))
        }
        #expect(pusher.statistics.pings.keepAliveInterval == .seconds(1))
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        await world.advance(by: .seconds(30))
        #expect(pusher.statistics.pings.keepAliveInterval != .seconds(1))
        #expect(world.server.records.contains { $0.event == .messageRejected })
        #expect(delegate.errors.elements == [])
        await world.advance(by: .seconds(60))
        let channels = try await subscribe(5, pusher, world)
        let time = try #require(await time(until: channels, in: world))
        #expect(time <= .seconds(70))
        #expect(delegate.failures.elements == [])
    }

    // MARK: Refusals

    @Test("One subscription with an invalid signature fails at once, and four others succeed")
    func badSignature() async throws {
        let world = Self.world()
        let pusher = try await world.makeConnectedClient()
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        world.server.failAuthorizations(1, with: .wrongSignature)
        let channels = try await world.atOnce { (1...5).map { pusher.subscribe("private-\($0)") } }
        await world.runUntil { delegate.failures.count + channels.count(where: \.subscribed) == 5 }
        // The authorizations run at the same time, so any of the five may get the invalid signature.
        let failed = channels.filter { !$0.subscribed }.map(\.name)
        #expect(failed.count == 1)
        #expect(delegate.subscriptionErrors.elements.map(\.message) == ["Connection is unauthorized"])
        #expect(delegate.failures.elements == failed)
    }

    @Test("A refused sign-in fails at once with the server's words", arguments: [false, true])
    func signIn(hasSubscriptions: Bool) async throws {
        let world = Self.world()
        let pusher = try await world.makeConnectedClient(.virtual(user: "u"))
        let channel = try await world.atOnce {
            pusher.signIn()
            return hasSubscriptions ? pusher.subscribe("private-a") : nil
        }
        let start = world.now
        let error = await #expect(throws: PusherClientError.self) {
            try await world.complete { try await pusher.signedIn() }
        }
        #expect(error?.code == .signInFailed && error?.serverCode == 4200)
        #expect(error?.message == "Invalid message format")
        #expect(world.now == start)
        await world.runUntil { channel?.subscribed != false }
    }
}
