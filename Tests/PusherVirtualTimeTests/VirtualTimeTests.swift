import PusherClient
import PusherObservation
import PusherTestServer
import PusherVirtualTime
import TestTraits
import Testing

@Suite("Virtual time", .limited)
struct VirtualTimeTests {
    @Test("shows the banner of an outage, the same 1,000 times")
    @MainActor func banner() async throws {
        for _ in 0..<1_000 {
            try await PusherTestServer.withVirtualTime { time, server, options in
                options.logLevel = .silent
                let app = MyApp(Pusher(key: server.key, options: options))
                try await server.waitForSubscription(to: "orders")
                #expect(app.banner == .none)
                server.goSilent()
                await time.advance(by: .seconds(150))
                #expect(app.banner == .reconnecting)
                server.speakAgain()
                await time.advance(by: .seconds(60))
                #expect(app.banner == .none)
                #expect(try server.publish(event: "created", data: "1", to: "orders") == 1)
                await time.settle()
                #expect(app.orders == ["1"])
            }
        }
    }

    @Test("moves the time by the duration, and only then")
    func elapsed() async throws {
        try await PusherTestServer.withVirtualTime { time, server, options in
            options.logLevel = .silent
            let pusher = Pusher(key: server.key, options: options)
            pusher.connect()
            try await server.waitForConnections()
            #expect(time.elapsed == .zero)
            let start = time.now
            await time.advance(by: .seconds(86_400))
            await time.advance(by: .milliseconds(1))
            await time.advance(by: .seconds(-1))
            #expect(time.elapsed == .seconds(86_400) + .milliseconds(1))
            #expect(time.now == start + time.elapsed)
            #expect(pusher.state == .connected)
            #expect(server.receivedMessages().count { $0.contains("pusher:ping") } == 720)
        }
    }

    @Test("subscribes when an endpoint works again after minutes")
    func failingEndpoint() async throws {
        try await PusherTestServer.withVirtualTime { time, server, options in
            options.logLevel = .silent
            let pusher = Pusher(key: server.key, options: options)
            server.failAuthorizations(with: .status(503))
            let channel = pusher.subscribe("private-chat")
            pusher.connect()
            await time.advance(by: .seconds(300))
            #expect(pusher.state == .connected)
            #expect(!channel.isSubscribed)
            #expect(server.authorizationRequests.count > 10)
            server.acceptAuthorizations()
            await time.advance(by: .seconds(30))
            #expect(channel.isSubscribed)
        }
    }

    @Test(
        "subscribes to channels of all kinds",
        .needsSodium,
        arguments: [PusherTransport.webSocket, .httpStreaming, .httpPolling]
    )
    func kinds(_ transport: PusherTransport) async throws {
        try await PusherTestServer.withVirtualTime { time, server, options in
            options.transports = PusherTransports([transport])
            let anna = Pusher(key: server.key, options: options)
            let bob = Pusher(key: server.key, options: time.makeOptions(userId: "bob"))
            let secret = anna.subscribe("private-encrypted-chat")
            let data = Seen<String>()
            secret.bind(eventName: "message") { event in data.add(event.data ?? "") }
            let room = anna.subscribeToPresenceChannel(channelName: "presence-room")
            _ = bob.subscribeToPresenceChannel(channelName: "presence-room")
            let members = Seen<String>()
            let changes = room.memberships
            let loop = Task { for await change in changes { members.add("\(change)") } }
            anna.connect()
            try await anna.subscribe("private-chat").subscribed()
            try await secret.subscribed()
            try await room.subscribed()
            #expect(room.members.count == 1)
            bob.connect()
            await time.settle()
            #expect(room.members.map(\.userId).contains("bob"))
            #expect(members.all.last?.contains("bob") == true)
            try server.publish(event: "message", data: "secret", to: "private-encrypted-chat")
            await time.settle()
            #expect(data.all == ["secret"])
            loop.cancel()
        }
    }

    @Test("has the records of the server repeat for a seed")
    func seeds() async throws {
        func records(_ seed: UInt64) async throws -> [String] {
            try await PusherTestServer.withVirtualTime(seed: seed) { time, server, options in
                options.logLevel = .silent
                let pusher = Pusher(key: server.key, options: options)
                for number in 1...8 { pusher.subscribe("private-\(number)") }
                pusher.connect()
                try await server.waitForSubscription(to: "private-8")
                let waits = Seen<String>()
                let statuses = pusher.statuses
                let loop = Task {
                    for await status in statuses {
                        waits.add("\(time.elapsed) \(status.remaining(at: time.now) ?? .zero)")
                    }
                }
                await time.settle(until: { !waits.all.isEmpty })
                server.failConnections(10, with: .refused(status: 503))
                server.dropConnections()
                await time.advance(by: .seconds(600))
                #expect(pusher.state == .connected)
                loop.cancel()
                return server.records.map(\.description) + waits.all
            }
        }
        let first = try await records(1)
        for _ in 0..<50 {
            let next = try await records(1)
            #expect(next.count == first.count)
            for (one, other) in zip(next, first) { try #require(one == other) }
        }
        #expect(try await records(2) != first)
    }

    @Test("closes the connections at the end, also after an error")
    func end() async throws {
        struct Failure: Error {}
        var pusher: Pusher?
        var sleeper: Task<Void, any Error>?
        await #expect(throws: Failure.self) {
            try await PusherTestServer.withVirtualTime { time, server, options in
                pusher = Pusher(key: server.key, options: options)
                pusher?.connect()
                let clock = time.clock
                sleeper = Task { try await clock.sleep(for: .seconds(1)) }
                try await server.waitForConnections()
                throw Failure()
            }
        }
        await #expect(throws: CancellationError.self) { try await sleeper?.value }
        let statuses = try #require(pusher?.statuses)
        weak let released = pusher
        pusher = nil
        for await _ in statuses {}
        #expect(released == nil)
    }
}
