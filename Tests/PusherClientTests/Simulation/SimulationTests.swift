import Foundation
import PusherTestServer
import Simulation
import TestTraits
import Testing

/// Tests of a few seeds, and of the simulation's tools. `make simulate` runs many seeds.
@Suite("Simulation", .limited, .needsSodium)
struct SimulationTests {
    @Test("The client breaks no rule in a random run", arguments: UInt64(1)...12)
    func seeds(seed: UInt64) async {
        let simulation = Simulation(seed: seed)
        let outcome = await run(simulation)
        #expect(outcome.violations == [], "\(simulation.transcript)")
    }

    /// The first four seeds for each choice of transports.
    static let seedsOfTransports: [UInt64] = httpTransports.flatMap { transports in
        Array((UInt64(1)...100).filter { Self.transports(of: $0) == transports }.prefix(4))
    }

    private static let httpTransports: [Settings.Transports] = [
        .httpStreaming, .httpPolling, .webSocketWithHTTPFallback,
    ]

    private static func transports(of seed: UInt64) -> Settings.Transports {
        Simulation(seed: seed, actionCount: 0).settings.transports
    }

    @Test("The client breaks no rule in a random run with HTTP transports", arguments: seedsOfTransports)
    func seedsOverHTTP(seed: UInt64) async {
        let simulation = Simulation(seed: seed)
        let outcome = await run(simulation)
        #expect(outcome.violations == [], "\(simulation.transcript)")
        #expect(outcome.trace.contains { $0.contains("  HTTP /pusher/app/") })
    }

    @Test("Most seeds use only WebSockets")
    func transports() {
        let counts = Dictionary(grouping: UInt64(1)...1_000) { Self.transports(of: $0) }.mapValues(\.count)
        #expect((550...650).contains(counts[.webSocket] ?? 0))
        for transports in Self.httpTransports {
            #expect((100...170).contains(counts[transports] ?? 0))
        }
    }

    @Test(
        "A seed repeats the same run to the nanosecond",
        arguments: [77, seedsOfTransports[0], seedsOfTransports[5], seedsOfTransports[8]]
    )
    func sameRun(seed: UInt64) async {
        let first = await run(Simulation(seed: seed))
        let second = await run(Simulation(seed: seed))
        #expect(first.messageCount > 20)
        #expect(first.digest == second.digest)
        // Encrypted data differs in each run.
        func comparable(_ trace: [String]) -> [String] { trace.filter { !$0.contains("private-encrypted-") } }
        #expect(comparable(first.trace) == comparable(second.trace))
        #expect(await run(Simulation(seed: seed + 1)).digest != first.digest)
    }

    @Test("A stream moves to another response while the server sends events")
    func moves() async {
        var actions: [PlannedAction] = [
            .init(.latency(milliseconds: 10...50)), .init(.connect), .init(.subscribe("news")),
            .init(.advance(milliseconds: 1_000)), .init(.bind("news", event: nil)),
        ]
        for _ in 0..<40 {
            actions.append(PlannedAction(.publish("news", event: "first"), settles: false))
            actions.append(PlannedAction(.advance(milliseconds: 5)))
        }
        let settings = Settings(seed: 1, transports: .httpStreaming, streamLength: 1_000)
        let simulation = Simulation(settings, actions)
        let outcome = await run(simulation)
        #expect(outcome.violations == [])
        #expect(outcome.trace.count { $0.contains("/xhr_streaming") } > 3)
        #expect(outcome.trace.count { $0.contains("a socket is opened") } == 1)
    }

    @Test("The client loses nothing if a stream overtakes the end of the stream before it")
    func overtaking() async {
        var actions: [PlannedAction] = [
            .init(.connect), .init(.subscribe("news")), .init(.bind("news", event: nil)),
            .init(.latency(milliseconds: 0...500)),
        ]
        for _ in 0..<60 {
            actions.append(PlannedAction(.publish("news", event: "first"), settles: false))
            actions.append(PlannedAction(.advance(milliseconds: 10)))
        }
        let settings = Settings(seed: 1, transports: .httpStreaming, streamLength: 1_000, serverStopsStreams: false)
        let outcome = await run(Simulation(settings, actions))
        #expect(outcome.violations == [])
        #expect(outcome.trace.contains { $0.contains("overtakes the end of another one") })
    }

    @Test("The app counts down while the client waits, takes some statuses, and releases sequences")
    func countdowns() async {
        let outcome = await run(
            Simulation(
                Settings(seed: 1, retryPolicy: .fixed(milliseconds: 5_000)),
                [
                    .connect, .countDown(milliseconds: 1_000, atMost: nil), .countDown(milliseconds: 500, atMost: 3),
                    .countDown(milliseconds: 1_000, atMost: nil), .cut(heardAfter: 0), .advance(milliseconds: 2_000),
                    .stopReading(0), .advance(milliseconds: 20_000),
                ].map { PlannedAction($0) }
            )
        )
        #expect(outcome.violations == [])
        // The first sequence repeats twice until its release, the second once, and the third four times until the wait ends.
        #expect(outcome.trace.count { $0.contains("repeats the status") } == 2 + 1 + 4)
    }

    @Test("The simulation runs a stored script unchanged")
    func script() async {
        let simulation = Simulation(
            Settings(seed: 1),
            [
                .init(.connect),
                .init(.subscribe("private-room")),
                .init(.bind("private-room", event: nil)),
                .init(.publish("private-room", event: "first")),
                .init(.close(code: 4200), isOnLoop: true, settles: false),
                .init(.advance(milliseconds: 5_000)),
            ]
        )
        let outcome = await run(simulation)
        #expect(outcome.violations == [])
        #expect(outcome.trace.count { $0.contains("→ {\"event\":\"pusher:subscribe\"") } == 2)
        #expect(outcome.trace.contains { $0.contains(##"← {"event":"first","data":"{\"n\":1}""##) })
        #expect(outcome.trace.contains { $0.contains("← close 4200") })
        #expect(simulation.transcript.contains(#".init(.publish("private-room", event: "first")),"#))
        #expect(simulation.transcript.contains(".init(.close(code: Optional(4200)), isOnLoop: true, settles: false),"))
    }

    @Test("The simulation shrinks a failing script to the steps that fail")
    func shrinking() async {
        let noChannel = "no channel!"
        let actions: [Action] = [
            .connect, .subscribe("news"), .publish("news", event: "first"), .advance(milliseconds: 1_000),
            .publish(noChannel, event: "first"), .disconnect, .advance(milliseconds: 1_000),
        ]
        let simulation = Simulation(
            Settings(seed: 1),
            actions.map { PlannedAction($0, isOnLoop: $0 == .disconnect, settles: $0 != .disconnect) }
        )
        let shrunk = await onThread { simulation.shrunk() }
        #expect(shrunk?.actions == [PlannedAction(.publish(noChannel, event: "first"))])
    }

    @Test("Logs and printed errors of clients contain no secret", arguments: UInt64(101)...106)
    func secrets(seed: UInt64) async {
        let outcome = await onThread { Simulation(seed: seed).run(showsAll: true) }
        #expect(outcome.violations == [])
        #expect(outcome.shown.count > 100)
        #expect(!outcome.sharedSecrets.isEmpty)
        let line = outcome.shown.first { line in
            SecretSearch.secret(in: line) != nil || outcome.sharedSecrets.contains { line.contains($0) }
        }
        #expect(line == nil)
    }

    @Test("The coverage counts an event that needs a connection only during a connection")
    func coverage() async {
        let simulation = Simulation(
            Settings(seed: 1),
            [.close(code: 4200), .publish("room", event: "first"), .connect, .close(code: 4200)].map {
                PlannedAction($0)
            }
        )
        let outcome = await onThread { simulation.run(hasCoverage: true) }
        #expect(outcome.coverage.counts["close 42xx"] == ["connected": 1])
        #expect(outcome.coverage.counts["publish"] == ["initialized": 1])
        #expect(outcome.coverage.gaps.contains("close 42xx while unavailable"))
        #expect(!outcome.coverage.gaps.contains("close 42xx while waiting"))
        #expect(outcome.coverage.gaps.contains("publish while waiting"))
    }

    private func run(_ simulation: Simulation) async -> Simulation.Outcome {
        await onThread { simulation.run(hasTrace: true) }
    }
}

/// Tests of defects that only seeds have found, each with as few steps as possible.
@Suite("Simulation: defects that seeds have found", .limited)
struct SimulationRegressionTests {
    @Test("A member stays on the list when an old connection of the same user is closed (seed 8546)")
    func ownMember() async {
        // This server does not count a user's connections, so the server reports that the user left when the silent
        // connection is closed.
        let outcome = await run(dialect: 7, [.connect, .subscribe("presence-room"), deaf, .disconnect, .connect])
        #expect(outcome.violations == [])
        #expect(outcome.trace.contains { $0.contains("member_removed") && $0.contains(#"\"user_id\":\"me\""#) })
    }

    @Test("Each user of a server that does not count connections has one connection (seed 13094213)")
    func otherMembers() async {
        let room = "presence-room"
        let outcome = await run(
            dialect: 7,
            [
                .connect, .subscribe(room), .memberJoins(room), .memberJoins(room), .memberLeaves(room),
                .memberJoins(room), .memberLeaves(room),
            ]
        )
        #expect(outcome.violations == [])
        #expect(outcome.trace.count { $0.contains("member_removed") } == 2)
    }

    @Test("send() may return after the app has released the client (seed 15254239)")
    func releasedSender() async {
        let room = "presence-room"
        let actions = [
            PlannedAction(.connect), .init(.subscribe(room)), .init(.slowWrites(milliseconds: 100)),
            .init(.send(room)), .init(.disconnect, isOnLoop: true, settles: false), .init(.dropClient),
        ]
        let simulation = Simulation(Settings(seed: 1), actions)
        let outcome = await onThread { simulation.run(hasTrace: true) }
        #expect(outcome.violations == [])
        let beforeRelease = outcome.trace.prefix { !$0.contains("dropClient") }
        #expect(beforeRelease.last?.contains("client-note") == true)
    }

    @Test("The client subscribes the user's own channel once when a user signs out and in again (seed 15363)")
    func userChannel() async {
        let outcome = await run(dialect: 3, [.signIn, .connect, .signOut, .signIn, .signOut, .signIn])
        #expect(outcome.violations == [])
        #expect(subscriptions(to: "#server-to-user-me", in: outcome) == 1)
    }

    @Test("The client accepts a late confirmation during a new subscription (seed 229637)")
    func lateConfirmation() async {
        // This server does not answer a second subscription to the same channel.
        let outcome = await run(
            dialect: 3,
            [
                .connect, .delayMessages(milliseconds: 10_500), .subscribe("private-room"),
                .advance(milliseconds: 10_200), .failAuthorizations(.delayed(.seconds(1)), count: 1),
                .subscribe("private-room"), .advance(milliseconds: 1_000),
            ]
        )
        #expect(outcome.violations == [])
        #expect(subscriptions(to: "private-room", in: outcome) == 1)
    }

    @Test("The client accepts a confirmation after an error with the wrong channel (seed 309030)")
    func confirmationAfterRefusal() async {
        let error = PusherTestServer.SubscriptionFault.error(code: 4009, message: "no presence-cache-room")
        // The seed decides whether the app reacts before the confirmation arrives.
        var counts: Set<Int> = []
        for seed in UInt64(1)...512 where counts.count < 2 {
            let outcome = await run(
                seed: seed,
                dialect: 3,
                [
                    .publish("presence-cache-room", event: "first"), .subscribe("private-room"),
                    .subscribe("presence-cache-room"), .failSubscriptions("private-room", error),
                    .bindReacting("presence-cache-room", .resubscribe("presence-cache-room")), .connect,
                    .advance(milliseconds: 5_000),
                ]
            )
            #expect(outcome.violations == [])
            counts.insert(subscriptions(to: "presence-cache-room", in: outcome))
        }
        // If the app reacts first, the confirmation belongs to the app's new subscription. If the confirmation comes
        // first, the client unsubscribes and subscribes again.
        #expect(counts == [1, 2])
    }

    @Test("An error without a channel fails no channel that the app resubscribes before the answer (seed 1571)")
    func refusalOfWhatIsGivenUp() async {
        // The client's messages arrive late, so the server sends the error before it gets the subscription.
        let outcome = await run(
            dialect: 3,
            [
                .connect, .slowWrites(milliseconds: 5_000), .subscribe("private-room"), .advance(milliseconds: 1_000),
                .unsubscribe("private-room"), .error(code: nil, message: "no private-room"),
                .advance(milliseconds: 1_000), .failAuthorizations(.delayed(.seconds(9)), count: 1),
                .subscribe("private-room"), .advance(milliseconds: 6_000), .unsubscribe("private-room"),
                .advance(milliseconds: 20_000),
            ]
        )
        #expect(outcome.violations == [])
        #expect(subscriptions(to: "private-room", in: outcome) == 1)
    }

    @Test("The client may repeat a message that it was about to send when an error arrived (seed 8853324)")
    func errorBeforeWhatIsDecided() async {
        let error = Action.error(code: 4301, message: "no")
        // The seed decides when the task subscribes. If the error arrives just before the client writes the
        // subscription, the client repeats the subscription.
        var repeatedCount = 0
        for seed in UInt64(1)...64 {
            let simulation = Simulation(
                Settings(seed: seed),
                [
                    .init(.connect), .init(.goSilent), .init(error, settles: false), .init(.await(.scope("room"))),
                    .init(.advance(milliseconds: 1_000)),
                ]
            )
            let outcome = await onThread { simulation.run(hasTrace: true) }
            #expect(outcome.violations == [])
            let first = outcome.trace.first { $0.contains("pusher:subscribe") || $0.contains("pusher:error") }
            guard first?.contains("pusher:error") == true else { continue }
            if subscriptions(to: "room", in: outcome) == 2 { repeatedCount += 1 }
        }
        #expect(repeatedCount > 0)
    }

    @Test("The server can refuse a subscribed channel if the server missed an unsubscribe (seed 9060517)")
    func refusedWhileSubscribed() async {
        let room = "private-cache-room"
        let outcome = await run(
            dialect: 7,
            [
                .connect, .subscribe(room), .goSilent, .unsubscribe(room), .speakAgain,
                .failSubscriptions(room, .error(code: 4009, message: "no")), .subscribe(room),
            ]
        )
        #expect(outcome.violations == [])
        #expect(subscriptions(to: room, in: outcome) == 2)
        #expect(
            outcome.trace.contains { $0.contains(##"← {"event":"pusher:error","data":{"code":4009,"message":"no""##) }
        )
    }

    @Test("The client does not repeat a client event whose request gets no answer (seed 17)")
    func unansweredClientEvent() async {
        let simulation = Simulation(
            Settings(seed: 1, transports: .httpStreaming),
            [
                .init(.connect), .init(.subscribe("private-room")),
                .init(.failTransportRequests(.sending, .answerLost, count: 1)), .init(.trigger("private-room")),
                .init(.advance(milliseconds: 5_000)),
            ]
        )
        let outcome = await onThread { simulation.run(hasTrace: true) }
        #expect(outcome.violations == [])
        #expect(outcome.trace.contains { $0.contains("client-note") })
    }

    @Test("A refusal that the network holds back may concern another channel (seed 12084915)")
    func lateRefusal() async throws {
        let simulation = Simulation(
            Settings(seed: 1, dialect: 4, transports: .httpStreaming),
            [
                .init(.failSubscriptions("private-room", .error(code: 4009, message: "no"))), .init(.connect),
                .init(.subscribe("cache-news")), .init(.bufferStreams(until: 4_000)),
                .init(.subscribe("private-room")), .init(.advance(milliseconds: 20_000)),
                .init(.resubscribe("cache-news")), .init(.bufferStreams(until: nil)),
            ]
        )
        let outcome = await onThread { simulation.run(hasTrace: true) }
        #expect(outcome.violations == [])
        let trace = outcome.trace.prefix { !$0.contains("(left to itself)") }
        let error = try #require(trace.firstIndex { $0.contains(#""code":4009,"message":"no""#) })
        let subscription = try #require(trace.lastIndex { $0.contains(#"→ {"event":"pusher:subscribe""#) })
        #expect(subscription < error)
        #expect(subscriptions(to: "cache-news", in: outcome) == 2)
    }

    @Test("A refusal that answers a slow request may concern another channel (seed 15374897)")
    func slowRefusal() async {
        let refusal = PusherTestServer.SubscriptionFault.error(code: 4009, message: "no")
        let settings = Settings(
            seed: 15_374_897,
            dialect: 2,
            useTLS: true,
            retryPolicy: .fixed(milliseconds: 500),
            authorization: .inline,
            authorizationsAtOnce: 2,
            transports: .httpStreaming,
            streamLength: 10_000,
            secondPoll: .takesOver
        )
        let actions: [Action] = [
            .connect, .failTransportRequests(.sending, .delayed(.milliseconds(300)), count: 3), .restart(refusing: 3),
            .signIn, .failRequests(true), .subscribe("news"), .failTransportRequests(.all, .status(503), count: 3),
            .bufferStreams(until: 1_048_576), .cutIntoPieces(upTo: 1), .connect,
            .failTransportRequests(.receiving, .status(503), count: 3), .advance(milliseconds: 5_000),
            .failSubscriptions("news", refusal), .disconnect, .connect,
            .failTransportRequests(.sending, .dropped, count: 1),
            .failTransportRequests(.sending, .delayed(.seconds(8)), count: 3), .bufferStreams(until: nil),
            .close(code: 1013), .subscribe("private-cache-room"), .bindReacting("private-cache-room", .reconnect),
            .failSubscriptions("private-room", refusal), .subscribe("private-room"),
            .failTransportRequests(.receiving, .delayed(.milliseconds(300)), count: 3), .advance(milliseconds: 1_000),
            .cut(heardAfter: 2_000), .latency(milliseconds: 0...3_000), .advance(milliseconds: 60_000),
            .subscribe("private-cache-room"), .advance(milliseconds: 200),
        ]
        let simulation = Simulation(settings, actions.map { PlannedAction($0) })
        let outcome = await onThread { simulation.run(hasTrace: true) }
        #expect(outcome.violations == [])
        // The last refusal arrives at the end of the actions, long after the client has written the subscription.
        let trace = outcome.trace.prefix { !$0.contains("(left to itself)") }
        #expect(trace.suffix(40).contains { $0.contains("4009") })
    }

    /// Publishes events until a new stream has begun while the old stream is still in transit, and then runs the other
    /// actions.
    private func duringHandover(seed: UInt64, _ rest: [PlannedAction]) async -> Simulation.Outcome {
        var actions: [PlannedAction] = [
            .init(.connect), .init(.latency(milliseconds: 10...50)), .init(.subscribe("news")),
            .init(.advance(milliseconds: 500)), .init(.bind("news", event: nil)),
        ]
        for _ in 0..<(25 + Int(seed) % 15) {
            actions.append(PlannedAction(.publish("news", event: "first")))
            actions.append(PlannedAction(.advance(milliseconds: 10)))
        }
        let settings = Settings(
            seed: seed,
            dialect: 3,
            transports: .httpStreaming,
            streamLength: 2_000,
            serverStopsStreams: false,
            sendsPrelude: false
        )
        let simulation = Simulation(settings, actions + rest)
        let outcome = await onThread { simulation.run(hasTrace: true) }
        let first = rest.first.map { "\($0.action)".prefix { $0 != "(" } } ?? ""
        let before = outcome.trace.prefix { !$0.contains(first) }
        #expect(before.last?.contains("overtakes the end of another one") == true)
        return outcome
    }

    @Test("A sleep during the change of a stream loses no event (seed 15395724)", arguments: [UInt64(32), 65])
    func sleepDuringHandover(seed: UInt64) async {
        let sleep: [PlannedAction] = [
            .init(.fallAsleep(isSuspended: false)), .init(.advance(milliseconds: 20_000)),
        ]
        let outcome = await duringHandover(seed: seed, sleep)
        #expect(outcome.violations == [])
    }

    @Test("A dead network during the change of a stream loses no event (seed 15652437)", arguments: [UInt64(64), 244])
    func deafDuringHandover(seed: UInt64) async {
        let outcome = await duringHandover(seed: seed, [.init(.goDeaf(toClient: true, toServer: false))])
        #expect(outcome.violations == [])
    }

    private let deaf = Action.goDeaf(toClient: true, toServer: true)

    /// Returns the number of subscriptions to a channel during the planned actions.
    private func subscriptions(to channel: String, in outcome: Simulation.Outcome) -> Int {
        outcome.trace.prefix { !$0.contains("(left to itself)") }
            .count { $0.contains(##"→ {"event":"pusher:subscribe","data":{"channel":"\##(channel)""##) }
    }

    private func run(seed: UInt64 = 1, dialect: Int, _ actions: [Action]) async -> Simulation.Outcome {
        let simulation = Simulation(Settings(seed: seed, dialect: dialect), actions.map { PlannedAction($0) })
        return await onThread { simulation.run(hasTrace: true) }
    }
}

/// Runs a closure on a separate thread, where the simulation captures all tasks.
private func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        let thread = Thread { continuation.resume(returning: body()) }
        thread.stackSize = 8 << 20
        thread.start()
    }
}
