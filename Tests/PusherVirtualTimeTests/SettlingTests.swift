import Dispatch
import NIOConcurrencyHelpers
import PusherClient
import PusherObservation
import PusherTestServer
import PusherVirtualTime
import TestTraits
import Testing

@Suite("Settling", .limited)
struct SettlingTests {
    /// Leaves the current thread several times, as asynchronous code does.
    private static func hop() async {
        for _ in 0..<5 {
            await withCheckedContinuation { continuation in
                DispatchQueue.global().async { continuation.resume() }
            }
        }
    }

    private func connected(
        _ options: PusherClientOptions,
        _ server: PusherTestServer
    ) async throws -> (Pusher, PusherChannel) {
        options.logLevel = .silent
        let pusher = Pusher(key: server.key, options: options)
        let channel = pusher.subscribe("orders")
        pusher.connect()
        try await server.waitForSubscription(to: "orders")
        return (pusher, channel)
    }

    @Test("waits for loops over events, which take their time on other threads")
    func loops() async throws {
        try await PusherTestServer.withVirtualTime { time, server, options in
            let (pusher, channel) = try await connected(options, server)
            let seen = Seen<String>()
            let sequences = (0..<3).map { _ in channel.events(named: "created") }
            let started = Seen<Int>()
            let tasks = sequences.map { sequence in
                Task {
                    var iterator = sequence.makeAsyncIterator()
                    started.add(1)
                    while let event = await iterator.next() {
                        await Self.hop()
                        seen.add(event.data ?? "")
                    }
                }
            }
            await time.settle(until: { started.all.count == 3 })
            for number in 1...10 { try server.publish(event: "created", data: "\(number)", to: "orders") }
            await time.settle()
            #expect(seen.all.sorted() == (1...10).flatMap { ["\($0)", "\($0)", "\($0)"] }.sorted())
            for task in tasks { task.cancel() }
            withExtendedLifetime(pusher) {}
        }
    }

    @Test("counts the app's tasks that sleep with the clock")
    @MainActor func sleepers() async throws {
        for _ in 0..<20 {
            try await PusherTestServer.withVirtualTime { time, _, _ in
                let clock: any Clock<Duration> = time.clock
                let ticks = Seen<Int>()
                let tasks = (1...3).map { number in
                    Task {
                        while true {
                            try await clock.sleep(for: .seconds(1))
                            ticks.add(number)
                        }
                    }
                }
                for second in 1...10 {
                    await time.settle(until: { time.sleeperCount == 3 })
                    await time.advance(by: .seconds(1))
                    await time.settle(until: { ticks.all.count == 3 * second })
                }
                #expect(time.elapsed == .seconds(10))
                for task in tasks { task.cancel() }
                await time.settle(until: { time.sleeperCount == 0 })
            }
        }
    }

    @Test("waits for callbacks on every kind of queue", arguments: 0..<3)
    func callbacks(_ kind: Int) async throws {
        try await PusherTestServer.withVirtualTime { time, server, options in
            let queue = DispatchQueue(label: "app")
            options.callbackQueue = [.main, .queue(queue), .eventLoop][kind]
            let (pusher, channel) = try await connected(options, server)
            let seen = Seen<String>()
            channel.bind(eventName: "created") { event in
                if kind < 2 { DispatchQueue.global().sync { seen.add(event.data ?? "") } } else { seen.add("3") }
            }
            let onMain = Seen<String>()
            let observation = channel.observe(named: "created", on: MainActor.shared) { event in
                onMain.add(event.data ?? "")
            }
            for _ in 0..<20 {
                try server.publish(event: "created", data: "3", to: "orders")
                await time.settle()
            }
            #expect(seen.all == Array(repeating: "3", count: 20))
            #expect(onMain.all == seen.all)
            withExtendedLifetime((pusher, observation)) {}
        }
    }

    @Test("does not wait for a loop that has ended")
    func endedLoop() async throws {
        try await PusherTestServer.withVirtualTime { time, server, options in
            let (pusher, channel) = try await connected(options, server)
            let seen = Seen<String>()
            let release = Seen<CheckedContinuation<Void, Never>>()
            let events = channel.events(named: "created")
            let task = Task {
                for await event in events {
                    seen.add(event.data ?? "")
                    break
                }
                await withCheckedContinuation { release.add($0) }
            }
            try server.publish(event: "created", data: "1", to: "orders")
            await time.settle(until: { !release.all.isEmpty })
            await time.advance(by: .seconds(1_000))
            #expect(seen.all == ["1"])
            #expect(pusher.state == .connected)
            release.all[0].resume()
            await task.value
        }
    }

    @Test("does not wait for loops that sleep with the clock, or wait for a call")
    func waitingLoops() async throws {
        try await PusherTestServer.withVirtualTime { time, server, options in
            let (pusher, channel) = try await connected(options, server)
            let seen = Seen<Duration>()
            let events = channel.events(named: "created")
            let clock: any Clock<Duration> = time.clock
            let started = Seen<Int>()
            let task = Task {
                for await _ in events {
                    started.add(1)
                    try await clock.sleep(for: .seconds(10))
                    seen.add(time.elapsed)
                    try await pusher.subscribe("private-later").subscribed()
                    seen.add(time.elapsed)
                }
            }
            server.failAuthorizations(1, with: .status(503))
            for _ in 0..<2 { try server.publish(event: "created", data: "1", to: "orders") }
            await time.settle(until: { !started.all.isEmpty })
            await time.advance(by: .seconds(9))
            #expect(seen.all.isEmpty)
            await time.advance(by: .seconds(1))
            #expect(seen.all.first == .seconds(10))
            await time.advance(by: .seconds(100))
            #expect(seen.all.count == 4)
            task.cancel()
        }
    }

    @Test("lets a loop wait for other tasks that wait for the client")
    func childTasks() async throws {
        try await PusherTestServer.withVirtualTime { time, server, options in
            let (pusher, channel) = try await connected(options, server)
            let seen = Seen<String>()
            let events = channel.events(named: "created")
            let task = Task {
                for await event in events {
                    async let first = pusher.subscribe("private-1").subscribed()
                    async let second = pusher.subscribe("private-2").subscribed()
                    _ = try await first
                    _ = try await second
                    seen.add(event.data ?? "")
                }
            }
            try server.publish(event: "created", data: "1", to: "orders")
            await time.settle(until: { !seen.all.isEmpty })
            #expect(time.elapsed == .zero)
            task.cancel()
        }
    }

    @Test("waits for authorizers, which may sleep with the clock")
    func authorizers() async throws {
        try await PusherTestServer.withVirtualTime { time, server, options in
            let clock = time.clock
            let calls = Seen<String>()
            options.authMethod = .authorizer { request in
                calls.add(request.channelName)
                await Self.hop()
                if request.channelName == "private-slow" { try await clock.sleep(for: .seconds(5)) }
                if request.channelName == "private-late" { try await clock.sleep(for: .seconds(3_600)) }
                let answer = server.authorization(forSocket: request.socketID, channel: request.channelName)
                return PusherAuth(auth: answer.auth)
            }
            let pusher = Pusher(key: server.key, options: options)
            let channels = ["private-1", "private-2", "private-slow", "private-late"].map { pusher.subscribe($0) }
            pusher.connect()
            await time.settle()
            #expect(calls.all == channels.map(\.name))
            #expect(channels.map(\.isSubscribed) == [true, true, false, false])
            await time.advance(by: .seconds(5))
            #expect(channels.map(\.isSubscribed) == [true, true, true, false])
            await time.advance(by: .seconds(60))
            // The client has given up the first try, and made others.
            #expect(calls.all.count(where: { $0 == "private-late" }) > 1)
        }
    }

    @Test("follows an observable connection, with its countdown")
    @available(macOS 14, *)
    @MainActor func observableConnection() async throws {
        try await PusherTestServer.withVirtualTime { time, server, options in
            options.retryPolicy = .delays([.seconds(8)])
            let pusher = Pusher(key: server.key, options: options)
            let connection = ObservableConnection(pusher)
            await time.advance(by: .seconds(500))
            pusher.connect()
            try await server.waitForConnections()
            #expect(connection.banner == nil)
            server.dropConnections()
            await time.settle()
            #expect(connection.banner == "No connection. Trying again in 8 s.")
            await time.advance(by: .seconds(3))
            #expect(connection.banner == "No connection. Trying again in 5 s.")
            await time.advance(by: .seconds(5))
            #expect(connection.banner == nil)
        }
    }

    @Test("returns when its task is cancelled, although a loop does not come back")
    func cancelledWait() async throws {
        try await PusherTestServer.withVirtualTime { time, server, options in
            let (pusher, channel) = try await connected(options, server)
            let release = Seen<CheckedContinuation<Void, Never>>()
            let events = channel.events(named: "created")
            let task = Task {
                for await _ in events { await withCheckedContinuation { release.add($0) } }
            }
            try server.publish(event: "created", data: "1", to: "orders")
            while release.all.isEmpty { await Task.yield() }
            let wait = Task { await time.advance(by: .seconds(1)) }
            wait.cancel()
            await wait.value
            #expect(time.elapsed == .zero)
            task.cancel()
            release.all[0].resume()
            await time.advance(by: .seconds(1))
            #expect(time.elapsed == .seconds(1))
            withExtendedLifetime(pusher) {}
        }
    }

    @Test("has the client and the app at rest when a wait of the server returns")
    func serverWaits() async throws {
        for _ in 0..<200 {
            try await PusherTestServer.withVirtualTime { _, server, options in
                let states = Seen<ConnectionState>()
                let pusher = Pusher(key: server.key, options: options)
                let delegate = Delegate(states)
                pusher.delegate = delegate
                let channel = pusher.subscribe("orders")
                pusher.connect()
                #expect(pusher.state == .connecting)
                try await server.waitForSubscription(to: "orders")
                #expect(channel.isSubscribed)
                #expect(states.all == [.connecting, .connected])
            }
        }
    }

    private final class Delegate: PusherDelegate {
        private let states: Seen<ConnectionState>

        init(_ states: Seen<ConnectionState>) { self.states = states }

        func changedConnectionState(from old: ConnectionState, to new: ConnectionState) { states.add(new) }
    }
}
