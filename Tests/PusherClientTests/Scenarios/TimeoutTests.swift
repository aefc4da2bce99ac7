import Foundation
import Logging
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Waits with a timeout", .limited, .overEachTransport)
struct TimeoutTests {
    let world = VirtualWorld()

    /// Begins a wait, advances the time, and returns the error that the wait threw.
    private func error(
        after duration: Duration,
        _ call: @escaping @Sendable () async throws -> Void
    ) async -> (any Error)? {
        let begun = Log<Void>()
        let task = Task {
            begun.append(())
            try await call()
        }
        await world.runUntil { begun.count == 1 }
        for _ in 0..<100 { await Task.yield() }
        await world.run()
        await world.advance(by: duration)
        do {
            try await world.complete { try await task.value }
            return nil
        } catch {
            return error
        }
    }

    @Test("connected(timeout:) throws an error about the connection, and the attempts continue")
    func connected() async throws {
        world.network.failLinks(100, with: .unreachable)
        let pusher = world.makeClient()
        let error = await error(after: .seconds(3)) { try await pusher.connected(timeout: .seconds(3)) }
        let thrown = try #require(error as? PusherClientError)
        #expect(thrown.code == .waitTimedOut)
        #expect(thrown.message.contains("3 s"))
        // The error names a wait or an attempt, because an attempt may be running at the timeout.
        #expect(["retrying", "connecting"].contains { thrown.message.contains($0) }, "\(thrown.message)")
        #expect(pusher.state != .disconnected)
    }

    @Test("a wait that succeeds in time has no effect at its timeout")
    func inTime() async throws {
        let pusher = world.makeClient()
        let id = try await world.complete { try await pusher.connected(timeout: .seconds(3)) }
        #expect(id == pusher.socketID)
        let channel = pusher.subscribe("orders")
        try await world.complete { try await channel.subscribed(timeout: .seconds(3)) }
        await world.advance(by: .seconds(5))
        #expect(pusher.state == .connected && channel.isSubscribed)
    }

    @Test("a wait that succeeds in time leaves no timer")
    func noTimer() async throws {
        weak var engine: ClientEngine?
        do {
            let pusher = world.makeUnheldClient()
            engine = pusher.engine
            let id = try await world.complete { try await pusher.connected(timeout: .seconds(60)) }
            #expect(id == pusher.socketID)
            let channel = pusher.subscribe("orders")
            try await world.complete { try await channel.subscribed(timeout: .seconds(60)) }
            #expect(pusher.state == .connected && channel.isSubscribed)
        }
        // A timer would keep the engine until the timeout.
        await world.advance(by: .seconds(10))
        #expect(engine == nil)
    }

    @Test("subscribed(timeout:) throws at its timeout, and the subscription continues")
    func subscribed() async throws {
        let pusher = world.makeClient()
        let channel = pusher.subscribe("orders")
        let error = await error(after: .seconds(2)) { try await channel.subscribed(timeout: .seconds(2)) }
        let thrown = try #require(error as? SubscriptionError)
        #expect(thrown.code == .waitTimedOut && thrown.channelName == "orders")
        #expect(thrown.message.contains("not connected yet"), "\(thrown.message)")
        pusher.connect()
        await world.runUntil { channel.isSubscribed }
    }

    @Test("signedIn(timeout:) throws at its timeout, and the sign-in continues")
    func signedIn() async throws {
        let pusher = world.makeClient(.virtual(user: "ada"))
        let error = await error(after: .seconds(2)) { try await pusher.signedIn(timeout: .seconds(2)) }
        #expect((error as? PusherClientError)?.code == .waitTimedOut)
        pusher.connect()
        await world.runUntil { pusher.user.isSignedIn }
    }

    @Test("a timeout of zero throws at once")
    func zero() async throws {
        world.network.failLinks(100, with: .unreachable)
        let pusher = world.makeClient()
        let error = await error(after: .zero) { try await pusher.connected(timeout: .zero) }
        #expect((error as? PusherClientError)?.code == .waitTimedOut)
    }

    @Test("statuses(every:) repeats the status while the client waits, and then stops")
    func ticks() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(retryPolicy: .delays([.seconds(10)])))
        let ticks = pusher.statuses(every: .seconds(2))
        await world.advance(by: .seconds(10))
        world.network.failLinks(1, with: .unreachable)
        world.network.cutLinks()
        await world.run()
        await world.advance(by: .seconds(11))
        pusher.disconnect()
        await world.run()
        await world.advance(by: .seconds(10))
        var statuses: [ConnectionStatus] = []
        for await status in ticks {
            statuses.append(status)
            if case .disconnected = status { break }
        }
        let waiting = statuses.count { if case .waiting = $0 { true } else { false } }
        #expect((6...7).contains(waiting), "\(statuses)")
        #expect(statuses.last == .disconnected(reason: nil))
    }

    @Test("the timer of statuses(every:) runs only during a wait")
    func countdownTimer() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(retryPolicy: .delays([.seconds(8)])))
        let ticks = pusher.statuses(every: .seconds(3))
        await world.run()
        #expect(try await world.leftovers(of: pusher).countdowns == 0)
        // The wait begins 2 s later, so a timer that had run before would fire after 1, 4 and 7 s.
        await world.advance(by: .seconds(2))
        world.network.cutLinks()
        await world.run()
        await world.advance(by: .seconds(8))
        #expect(pusher.state == .connected)
        #expect(try await world.leftovers(of: pusher).countdowns == 0)
        var (connected, waiting) = (0, 0)
        for await status in ticks {
            if case .waiting = status { waiting += 1 }
            if case .connected = status { connected += 1 }
            if connected == 2 { break }
        }
        #expect(waiting == 3)
    }

    @Test("a new sequence during a wait does not delay other sequences")
    func severalCountdowns() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(retryPolicy: .delays([.seconds(10)])))
        world.network.cutLinks()
        await world.run()
        let ticks = pusher.statuses(every: .seconds(2))
        var others: [EventSequence<ConnectionStatus>] = []
        await world.run()
        for _ in 1...3 {
            await world.advance(by: .seconds(1))
            others.append(pusher.statuses(every: .seconds(2)))
            await world.run()
        }
        others = []
        pusher.disconnect()
        await world.run()
        var waiting = 0
        for await status in ticks {
            if case .waiting = status { waiting += 1 }
            if case .disconnected = status { break }
        }
        #expect(waiting == 2)
    }

    @Test("a new sequence during a wait counts down the wait, and its timer ends with the sequence")
    func countdownDuringWait() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(retryPolicy: .delays([.seconds(10)])))
        world.network.cutLinks()
        await world.run()
        var ticks: EventSequence<ConnectionStatus>? = pusher.statuses(every: .seconds(3))
        await world.run()
        #expect(try await world.leftovers(of: pusher).countdowns == 1)
        await world.advance(by: .seconds(3))
        var iterator = ticks?.makeAsyncIterator()
        for _ in 1...2 {
            guard case .waiting = await iterator?.next() else {
                return #expect(Bool(false), "the wait is not counted down")
            }
        }
        (ticks, iterator) = (nil, nil)
        await world.advance(by: .seconds(3))
        #expect(try await world.leftovers(of: pusher).countdowns == 0)
    }
}

@Suite("The log", .limited, .overEachTransport)
struct LogLineTests {
    let world = VirtualWorld()

    @Test("a line of the log contains each reason at most once")
    func reasons() async throws {
        let lines = LogLines()
        let pusher = try await world.makeConnectedClient(.virtual(logger: lines.logger(.debug)))
        var errors = pusher.errors.makeAsyncIterator()
        world.network.failLinks(2, with: .unreachable)
        world.network.cutLinks()
        await world.run()
        await world.advance(by: .seconds(5))
        #expect(pusher.state == .connected)
        for _ in 1...3 {
            let reason = try #require(await errors.next()).message
            #expect(lines.messages.contains { $0.contains(reason) })
            for line in lines.messages { #expect(line.components(separatedBy: reason).count <= 2, "\(line)") }
        }
        // The report to the delegate must not be another line of the log.
        let told = lines.messages.filter { $0.hasPrefix("error: ") }
        #expect(told.isEmpty, "\(told)")
    }
}
