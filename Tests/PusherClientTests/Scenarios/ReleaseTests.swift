import ClientTestSupport
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Released objects are freed in every situation of the client", .limited, .overEachTransport)
struct ReleaseTests {
    /// The client's state when an object is released.
    enum Situation: String, CaseIterable, Sendable {
        case initialized, connecting, waiting, unavailable, connected, subscribing, authorizing, reauthorizing
        case signingIn, disconnecting, disconnected, refused
    }

    private struct WeakReference {
        private(set) weak var object: AnyObject?
        init(_ object: AnyObject) { self.object = object }
    }

    /// An error for a client that did not reach the required situation.
    private struct NotBrought: Error {}

    /// An object that only closures and tasks of the app own.
    private final class Owned: Sendable {}

    /// A weak reference that a closure can read.
    private final class Probe: Sendable {
        private weak let owned: Owned?
        var isFreed: Bool { owned == nil }
        init(_ owned: Owned) { self.owned = owned }
    }

    let world = VirtualWorld()

    private func makeClient(for situation: Situation, owned: Owned = Owned()) -> Pusher {
        let server = world.server
        let method = AuthMethod.authorizer { [owned] request in
            defer { withExtendedLifetime(owned) {} }
            switch situation {
            case .authorizing: return try await Self.nothing()
            case .reauthorizing: throw AuthorizationError(.requestFailed, "no", recovery: .retry(after: .seconds(60)))
            default:
                let signed = server.authorization(forSocket: request.socketID, channel: request.channelName)
                return PusherAuth(auth: signed.auth)
            }
        }
        let userMethod = UserAuthMethod.authenticator { [owned] _ in
            defer { withExtendedLifetime(owned) {} }
            return try await Self.nothing()
        }
        let pusher = world.makeUnheldClient(
            .virtual(authMethod: method, userAuthMethod: userMethod, limits: .init(clientEventsPerSecond: 1))
        )
        pusher.subscribe("private-orders")
        return pusher
    }

    /// Waits until its task is cancelled.
    private static func nothing<Value: Sendable>() async throws -> Value {
        guard let value = await FirstAnswer<Value>().value() else { throw CancellationError() }
        return value
    }

    /// Brings the client into a situation.
    private func bring(_ pusher: Pusher, into situation: Situation) async throws {
        switch situation {
        case .connecting, .unavailable: world.server.failConnections(with: .stalled)
        case .waiting: world.network.failLinks(with: .unreachable)
        case .subscribing: world.server.failSubscriptions(to: "private-orders", with: .unanswered)
        case .refused: world.server.failConnections(with: .closed(code: 4001))
        case .initialized, .connected, .authorizing, .reauthorizing, .signingIn, .disconnecting, .disconnected: break
        }
        if situation == .signingIn { pusher.signIn() }
        if situation != .initialized { pusher.connect() }
        await world.run()
        switch situation {
        case .initialized, .connecting, .waiting, .refused: break
        case .unavailable:
            await world.advance(by: .seconds(10))
            guard case .unavailable = pusher.connection.status else { throw NotBrought() }
        case .disconnecting, .disconnected:
            await runUntil(pusher) { $0.connectionState == .connected }
            // The silent server does not answer the closing handshake.
            if situation == .disconnecting { world.server.goSilent() }
            pusher.disconnect()
            await world.run()
        case .connected: await runUntil(pusher) { $0.subscriptions["private-orders"]?.isSubscribed == true }
        case .subscribing: await runUntil(pusher) { $0.subscriptions["private-orders"]?.isPending == true }
        case .authorizing: await runUntil(pusher) { !$0.authorizations.isEmpty }
        case .reauthorizing:
            await runUntil(pusher) { machine in
                let retries = machine.session?.retries ?? Retries()
                return retries.subjects.contains { retries[$0]?.phase == .waiting }
            }
        case .signingIn: await runUntil(pusher) { $0.signIn.isUnderWay }
        }
        let state: ConnectionState =
            switch situation {
            case .initialized, .disconnected, .refused: .disconnected
            case .connecting, .unavailable: .connecting
            case .waiting: .reconnecting
            case .connected, .subscribing, .authorizing, .reauthorizing, .signingIn: .connected
            // Over HTTP there is no closing handshake.
            case .disconnecting: world.transport == .webSocket ? .disconnecting : .disconnected
            }
        try #require(pusher.connection.connectionState == state)
    }

    private func runUntil(_ pusher: Pusher, _ condition: @Sendable (ClientStateMachine) -> Bool) async {
        await world.runUntil { pusher.engine.read { condition($0.machine) } }
    }

    /// Returns the number of waiting calls in the client.
    private func waitingCalls(of engine: ClientEngine) -> Int {
        engine.read { state in
            let machine = state.machine
            return state.waiters.count + machine.connectionWaiters.count + machine.disconnectionWaiters.count
                + machine.endWaiters.count + machine.signInWaiters.count + machine.sendWaiters.count
                + machine.subscriptions.values.reduce(0) { $0 + $1.waiters.count }
        }
    }

    @Test(
        "releasing a client frees its channels, closures, authorizers, sockets, timers and waits",
        arguments: Situation.allCases
    )
    func client(situation: Situation) async throws {
        var owned: Owned? = Owned()
        let probe = Probe(try #require(owned))
        var pusher: Pusher? = makeClient(for: situation, owned: try #require(owned))
        weak let weakPusher = pusher
        weak let engine = pusher?.engine
        var channel = pusher?.connection.channels.find(name: "private-orders")
        weak let weakChannel = channel
        try await bring(try #require(pusher), into: situation)
        channel?.bind { [owned] _ in withExtendedLifetime(owned) {} }
        channel?.onSubscriptionCountChanged = { [owned] _ in withExtendedLifetime(owned) {} }
        pusher?.bind { [owned] _ in withExtendedLifetime(owned) {} }
        // The closure and the connection form a cycle, which only the client can break.
        pusher?.connection.userDataFetcher = { [owned, connection = pusher?.connection] in
            withExtendedLifetime((owned, connection)) { PusherPresenceChannelMember(userId: "1") }
        }
        // The first task waits if the channel is not subscribed, and the others read sequences to their end.
        let tasks = [
            Task { [channel, owned] in
                _ = try? await channel?.subscribed()
                withExtendedLifetime(owned) {}
            },
            Task { [events = channel?.events, owned] in
                if let events { for await _ in events {} }
                withExtendedLifetime(owned) {}
            },
            Task { [statuses = pusher?.statuses, owned] in
                if let statuses { for await _ in statuses {} }
                withExtendedLifetime(owned) {}
            },
        ]
        channel = nil
        owned = nil
        await world.run()
        #expect(weakChannel != nil)
        #expect(!probe.isFreed)
        pusher = nil
        #expect(weakPusher == nil)
        for task in tasks { try await world.complete { await task.value } }
        // The client waits for the closing handshake until its timeout.
        if situation == .disconnecting { await world.advance(by: .seconds(2)) }
        await world.runUntil { probe.isFreed && engine == nil }
        #expect(weakChannel == nil)
        await world.letServerNotice()
        #expect(world.server.connections.allSatisfy { !$0.isEstablished })
    }

    @Test(
        "unsubscribing frees the channel with its closures and sequences, but not the client",
        arguments: Situation.allCases
    )
    func channel(situation: Situation) async throws {
        let pusher = makeClient(for: situation)
        weak let channel = pusher.connection.channels.find(name: "private-orders")
        var owned: Owned? = Owned()
        let probe = Probe(try #require(owned))
        channel?.bind { [owned] _ in withExtendedLifetime(owned) {} }
        channel?.bind(eventName: "e") { [owned] _ in withExtendedLifetime(owned) {} }
        let observation = channel?.observe(on: MainActor.shared) { [owned] _ in withExtendedLifetime(owned) {} }
        channel?.onSubscriptionCountChanged = { [owned] _ in withExtendedLifetime(owned) {} }
        channel?.trigger(eventName: "client-e", data: "waits")
        let events = channel?.events
        try await bring(pusher, into: situation)
        let state = pusher.connection.connectionState
        owned = nil
        #expect(channel != nil)
        #expect(!probe.isFreed)
        pusher.unsubscribe("private-orders")
        await world.run()
        await world.runUntil { probe.isFreed && channel == nil }
        if let events { for await _ in events {} }
        withExtendedLifetime(observation) {}
        #expect(pusher.connection.connectionState == state)
        #expect(pusher.engine.read { $0.channels.isEmpty && $0.machine.clientEvents.isEmpty })
        #expect(pusher.engine.read { $0.machine.authorizations.isEmpty } || situation == .signingIn)
    }

    @Test("releasing a sequence frees its buffer", arguments: Situation.allCases)
    func sequences(situation: Situation) async throws {
        let pusher = makeClient(for: situation)
        let channel = try #require(pusher.connection.channels.find(name: "private-orders"))
        try await bring(pusher, into: situation)
        let presence = pusher.subscribeToPresenceChannel(channelName: "presence-room")
        var sequences: [Any] = []
        var buffers: [WeakReference] = []
        func keep<Element>(_ sequence: EventSequence<Element>) {
            sequences.append(sequence)
            buffers.append(WeakReference(sequence.buffer))
        }
        for sequence in [
            pusher.events, pusher.events(named: "e"), channel.events, channel.events(named: "e"), pusher.user.events,
            pusher.user.events(named: "e"),
        ] { keep(sequence) }
        keep(pusher.statuses)
        keep(pusher.errors)
        keep(channel.resubscriptions)
        keep(presence.memberships)
        keep(pusher.user.watchlist.events)
        let registries = [pusher.engine.clientListeners, pusher.engine.userListeners, channel.listeners]
        #expect(registries.allSatisfy { !$0.isEmpty })
        #expect(buffers.allSatisfy { $0.object != nil })
        // Cancelling the reader of a sequence has the same effect as releasing the sequence.
        var owned: Owned? = Owned()
        let probe = Probe(try #require(owned))
        var reading: Task<Void, Never>? = Task { [events = channel.events, owned] in
            for await _ in events {}
            withExtendedLifetime(owned) {}
        }
        owned = nil
        reading?.cancel()
        await reading?.value
        reading = nil
        sequences = []
        await world.runUntil { probe.isFreed }
        #expect(registries.allSatisfy { $0.isEmpty })
        #expect(buffers.allSatisfy { $0.object == nil })
    }

    /// A call that may have to wait.
    enum Call: CaseIterable, Sendable {
        case connected, subscribed, signedIn, sent, run, disconnected

        fileprivate func make(_ pusher: Pusher) async throws {
            let channel = pusher.subscribe("private-orders")
            switch self {
            case .connected: try await pusher.connected()
            case .subscribed: try await channel.subscribed()
            case .signedIn: try await pusher.signedIn()
            case .sent:
                // The client sends one event in a second, so the second event waits.
                for _ in 1...2 { try await channel.send("client-e", data: "x") }
            case .run: try await pusher.run()
            case .disconnected: await pusher.disconnected()
            }
        }
    }

    @Test(
        "cancelling a waiting call frees the call and its task",
        arguments: Situation.allCases,
        Call.allCases
    )
    func calls(situation: Situation, call: Call) async throws {
        let pusher = makeClient(for: situation)
        try await bring(pusher, into: situation)
        var owned: Owned? = Owned()
        let probe = Probe(try #require(owned))
        let isOver = Log<Bool>()
        var task: Task<Void, any Error>? = Task { [owned] in
            defer { withExtendedLifetime(owned) { isOver.append(true) } }
            try await call.make(pusher)
        }
        owned = nil
        let engine = pusher.engine
        await world.runUntil { isOver.count == 1 || waitingCalls(of: engine) > 0 }
        task?.cancel()
        await world.runUntil { isOver.count == 1 }
        task = nil
        await world.runUntil { probe.isFreed }
        #expect(waitingCalls(of: engine) == 0)
    }
}
