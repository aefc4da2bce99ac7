import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import PusherTestServer
import PusherVirtualTime
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Reconnecting", .limited, .overEachTransport)
struct ReconnectingTests {
    let world = VirtualWorld()

    @Test("The client retires its idle HTTP connections when the connection ends, also after disconnect()")
    func retiredConnections() async throws {
        let world = VirtualWorld()
        let pusher = try await world.makeConnectedClient()
        let requester = try #require(pusher.engine.requester as? InMemoryRequester)
        func reconnected() async -> Int {
            await world.advance(by: .seconds(2))
            #expect(pusher.connection.connectionState == .connected)
            return requester.retirementCount
        }
        #expect(requester.retirementCount == 0)
        world.network.cutLinks()
        #expect(await reconnected() == 1)
        pusher.reconnectNow()
        #expect(await reconnected() == 2)
        try pusher.switchTo(endpoint: .soketi(host: "second.test", useTLS: false))
        #expect(await reconnected() == 3)
        pusher.disconnect()
        await world.run()
        #expect(requester.retirementCount == 4)
    }

    @Test("the client reconnects after a loss, and announces the loss to the delegate once")
    func loss() async throws {
        let delegate = RecordingDelegate()
        let pusher = try await world.makeConnectedClient()
        pusher.delegate = delegate
        world.network.failLinks(3, with: .unreachable)
        world.network.cutLinks()
        await world.run()
        #expect(delegate.states.take() == [.disconnected, .reconnecting])
        await world.advance(by: .seconds(3))
        #expect(delegate.states.take() == (0..<3).flatMap { _ in [ConnectionState.connecting, .reconnecting] })
        await world.advance(by: .seconds(1))
        #expect(delegate.states.take() == [.connecting, .connected])
    }

    @Test(
        "an app that connects, or disconnects and connects, whenever the connection fails makes few attempts",
        arguments: [false, true]
    )
    func connectInCallback(disconnects: Bool) async throws {
        final class Eager: PusherDelegate {
            weak let pusher: Pusher?
            let disconnects: Bool
            init(_ pusher: Pusher, disconnects: Bool) { (self.pusher, self.disconnects) = (pusher, disconnects) }
            func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
                guard new == .reconnecting || (new == .disconnected && !disconnects) else { return }
                if disconnects { pusher?.disconnect() }
                pusher?.connect()
            }
        }
        world.network.failLinks(with: .unreachable)
        let lines = LogLines()
        let pusher = world.makeClient(.virtual(logger: lines.logger(.warning)))
        let eager = Eager(pusher, disconnects: disconnects)
        pusher.delegate = eager
        pusher.connect()
        await world.advance(by: .seconds(60))
        #expect(pusher.statistics.connections.attempts <= 66)
        #expect(lines.messages.count { $0.contains("Don't call connect() whenever") } == 1)
        withExtendedLifetime(eager) {}
    }

    @Test("the client makes more attempts if it cannot connect (PusherSwift 366)")
    func unreachable() async throws {
        world.network.failLinks(with: .unreachable)
        let delegate = RecordingDelegate()
        let pusher = world.makeClient()
        pusher.delegate = delegate
        pusher.connect()
        await world.run()
        #expect(pusher.connection.connectionState == .reconnecting)
        #expect(delegate.errors.elements.map(\.clientError.code) == [.connectionFailed])
        world.network.failLinks(with: nil)
        await world.advance(by: .seconds(1))
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test(
        "the client makes more attempts after an unknown name or a failed handshake (PusherSwift hangs)",
        arguments: [PusherClientError.Code.nameResolutionFailed, .tlsFailed, .upgradeFailed]
    )
    func failedAttempt(code: PusherClientError.Code) async throws {
        let failures = Log<Void>()
        let transport = ObservedTransport(inner: world.makeTransport()) { _ in
        } received: { event, receive in
            guard case .opened = event, failures.count < 2 else { return receive(event) }
            failures.append(())
            receive(.closed(TransportClosure(code: nil, error: PusherClientError(code, "as the test wants it"))))
        }
        let delegate = RecordingDelegate()
        let pusher = world.makeClient(transport: transport)
        pusher.delegate = delegate
        pusher.connect()
        await world.run()
        #expect(pusher.connection.connectionState == .reconnecting)
        await world.advance(by: .seconds(1))
        #expect(delegate.errors.elements.map(\.clientError.code) == [code, code])
        await world.advance(by: .seconds(1))
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test("maxReconnectGapInSeconds is 30 with the default policy, and nil with another policy")
    func maximumGapDefault() {
        #expect(world.makeClient(PusherClientOptions()).connection.maxReconnectGapInSeconds == 30)
        #expect(world.makeClient().connection.maxReconnectGapInSeconds == nil)
    }

    @Test("the client makes more attempts after a refused upgrade (soketi 928)")
    func refusedUpgrade() async throws {
        world.server.failConnections(1, with: .refused(status: 503))
        let pusher = world.makeClient()
        pusher.connect()
        await world.advance(by: .seconds(1))
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test(
        "an attempt without an answer ends after 15 s, to the nanosecond",
        arguments: [PusherTestServer.ConnectionFault.stalled, .silent]
    )
    func attemptTimeout(fault: PusherTestServer.ConnectionFault) async throws {
        world.server.failConnections(1, with: fault)
        let pusher = world.makeClient()
        pusher.connect()
        await world.advance(by: .seconds(15) - .nanoseconds(1))
        #expect(pusher.connection.connectionState == .connecting)
        await world.advance(by: .nanoseconds(1))
        #expect(pusher.connection.connectionState == .reconnecting)
        await world.advance(by: .seconds(1))
        #expect(pusher.connection.connectionState == .connected)
        await world.letServerNotice()
        #expect(world.server.connections.count == 1)
    }

    @Test("the status is unavailable after 10 s, while the attempts continue")
    func unavailable() async throws {
        world.network.failLinks(with: .blackHole)
        let pusher = world.makeClient()
        pusher.connect()
        await world.advance(by: .seconds(10) - .nanoseconds(1))
        #expect(pusher.connection.status == .connecting)
        await world.advance(by: .nanoseconds(1))
        #expect(pusher.connection.status == .unavailable(reason: nil))
        #expect(pusher.connection.connectionState == .connecting)
        world.network.failLinks(with: nil)
        await world.advance(by: .seconds(6))
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test("the default policy waits for a random share of 1, 2, 4 … 30 s")
    func backOff() async throws {
        world.network.failLinks(with: .unreachable)
        let pusher = world.makeClient(.virtual(retryPolicy: .exponential()), random: 0.5)
        pusher.connect()
        for bound in [1, 2, 4, 8, 16, 30, 30, 30, 30, 30] {
            await world.run()
            guard case .waiting(let until, _, _) = pusher.connection.status else {
                Issue.record("not waiting: \(pusher.connection.status)")
                return
            }
            #expect(until - world.now == .milliseconds(bound * 500))
            await world.advance(by: until - world.now)
        }
    }

    @Test("after 20 s without a server, 80 of 100 clients reconnect within 20 s, and all within 30 s")
    func shortOutage() async throws {
        let clients = try await makeClientsInOutage(count: 100, of: .seconds(20))
        await world.advance(by: .seconds(20))
        let early = clients.count { $0.connection.connectionState == .connected }
        #expect(early >= 80, "\(early)")
        await world.advance(by: .seconds(10))
        #expect(clients.allSatisfy { $0.connection.connectionState == .connected })
    }

    @Test("many clients reconnect over half a minute, and not all at once")
    func herd() async throws {
        // A client over HTTP needs several times as much work, so the test has fewer clients over HTTP.
        let count = world.transport == .webSocket ? 500 : 200
        let clients = try await makeClientsInOutage(count: count, of: .seconds(90))
        var (connected, largest) = (0, 0)
        for _ in 1...30 {
            await world.advance(by: .seconds(1))
            let now = clients.count { $0.connection.connectionState == .connected }
            largest = max(largest, now - connected)
            connected = now
        }
        #expect(connected == count)
        // With uniform random waits, 65 of 1,000 clients reconnect in the first second, and fewer in each later second.
        #expect(largest * 1_000 < count * 130, "\(largest)")
    }

    /// Returns clients of a server that has just become reachable again. The seed of each client is its number.
    private func makeClientsInOutage(count: Int, of duration: Duration) async throws -> [Pusher] {
        let clients = (1...count).map { seed in
            let generator = NIOLockedValueBox(SeededGenerator(seed: UInt64(seed)))
            return world.makeClient(.virtual(retryPolicy: .exponential())) {
                generator.withLockedValue { Double.random(in: 0..<1, using: &$0) }
            }
        }
        for client in clients { client.connect() }
        await world.advance(by: .seconds(60))
        try #require(clients.allSatisfy { $0.connection.connectionState == .connected })
        world.network.failLinks(with: .unreachable)
        world.network.cutLinks()
        await world.advance(by: duration)
        world.network.failLinks(with: nil)
        return clients
    }

    @Test("the client waits longer and longer for a server that accepts and closes at once")
    func acceptThenClose() async throws {
        world.server.failConnections(with: .closedAfterHandshake(code: 4200))
        let pusher = world.makeClient(.virtual(retryPolicy: .exponential()))
        pusher.connect()
        await world.advance(by: .seconds(120))
        // The attempts come after 0, 1, 3, 7, 15, 31, 61 and 91 s.
        #expect(world.server.records.count { $0.event == .connectionAccepted } == 8)
        #expect(pusher.connection.connectionState == .reconnecting)
    }

    @Test("the client reconnects at once after 4200, and waits at least a second after 4100")
    func reactions() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(retryPolicy: .delays([.zero])))
        await world.advance(by: .seconds(60))
        world.server.closeConnections(code: 4200)
        await world.run()
        #expect(pusher.connection.connectionState == .connected)
        world.server.closeConnections(code: 4100)
        await world.run()
        #expect(pusher.connection.connectionState == .reconnecting)
        await world.advance(by: .seconds(1))
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test("an unlisted close code in 4000-4099 stops the client (PusherSwift reconnects forever)")
    func unlistedRefusal() async throws {
        let pusher = try await world.makeConnectedClient()
        world.server.closeConnections(code: 4042, reason: "new kind of refusal")
        await world.advance(by: .seconds(3_600))
        guard case .refused(let error) = pusher.connection.status else {
            Issue.record("not refused: \(pusher.connection.status)")
            return
        }
        #expect(error.serverCode == 4042)
        #expect(error.message.contains("new kind of refusal"))
        #expect(world.server.connections.isEmpty)
        pusher.connect()
        await world.run()
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test("the client switches to TLS after 4000, on port 443 instead of 80")
    func overToTLS() async throws {
        let opened = Log<TransportRequest>()
        let transport = ObservedTransport(inner: world.makeTransport()) { opened.append($0) }
        world.server.failConnections(1, with: .closed(code: 4000))
        let pusher = world.makeClient(transport: transport)
        pusher.connect()
        await world.run()
        #expect(opened.elements.map(\.useTLS) == [false, true])
        #expect(opened.elements.map(\.port) == [80, 443])
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test(
        "the client does not reconnect after any kind of loss if autoReconnect is false",
        arguments: [nil, 1006, 4000, 4100, 4200]
    )
    func noReconnect(code: Int?) async throws {
        let pusher = try await world.makeConnectedClient(.virtual(autoReconnect: false))
        await world.advance(by: .seconds(60))
        if let code { world.server.closeConnections(code: code) } else { world.network.cutLinks() }
        await world.advance(by: .seconds(3_600))
        guard case .disconnected(.some) = pusher.connection.status else {
            Issue.record("not disconnected: \(pusher.connection.status)")
            return
        }
        #expect(world.server.connections.isEmpty)
    }

    @Test("a pusher:error before the handshake counts as a close with its code (Reverb)")
    func errorBeforeHandshake() async throws {
        world.server.failConnections(1, with: .error(code: 4001, message: "Application does not exist"))
        let pusher = world.makeClient()
        pusher.connect()
        await world.advance(by: .seconds(60))
        guard case .refused(let error) = pusher.connection.status else {
            Issue.record("not refused: \(pusher.connection.status)")
            return
        }
        #expect(error.serverCode == 4001)
    }

    @Test("the log warns of each outage once and reports its end, even if outages follow each other")
    func log() async throws {
        let lines = LogLines()
        let pusher = try await world.makeConnectedClient(.virtual(logger: lines.logger(.notice)))
        for outage in 1...3 {
            world.network.failLinks(2, with: .unreachable)
            world.network.cutLinks()
            for _ in 1...3 { await world.advance(by: .seconds(1)) }
            #expect(pusher.connection.connectionState == .connected)
            #expect(lines.messages.count { $0.hasPrefix("No connection. The client tries again") } == outage)
            #expect(lines.messages.count { $0.hasPrefix("Connected again") } == outage)
        }
    }

    @Test("the client stops after reconnectAttemptsMax, and connected() and the delegate get the error")
    func attemptsMax() async throws {
        world.network.failLinks(with: .unreachable)
        let delegate = RecordingDelegate()
        let pusher = world.makeClient()
        pusher.delegate = delegate
        pusher.connection.reconnectAttemptsMax = 2
        let waiting = Task { try await pusher.connected() }
        await world.runUntil { pusher.connection.connectionState == .reconnecting }
        await world.advance(by: .seconds(1))
        await world.advance(by: .seconds(1))
        let error = await #expect(throws: PusherClientError.self) {
            try await world.complete { try await waiting.value }
        }
        #expect(error?.code == .retriesExhausted)
        #expect(delegate.errors.elements.last?.clientError.code == .retriesExhausted)
        #expect(pusher.connection.connectionState == .disconnected)
    }

    @Test("maxReconnectGapInSeconds limits the policy's waits")
    func maximumGap() async throws {
        world.network.failLinks(with: .unreachable)
        let pusher = world.makeClient(.virtual(retryPolicy: .delays([.seconds(600)])))
        pusher.connection.maxReconnectGapInSeconds = 5
        pusher.connect()
        await world.run()
        world.network.failLinks(with: nil)
        await world.advance(by: .seconds(5))
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test("the client ignores a late close of an old socket")
    func lateClose() async throws {
        let closes = Log<@Sendable () -> Void>()
        // While this flag is true, the test keeps closures, which keep the client alive.
        let isKept = NIOLockedValueBox(true)
        let transport = ObservedTransport(inner: world.makeTransport()) { _ in
        } received: { event, receive in
            if case .closed(let closure) = event, isKept.withLockedValue({ $0 }) {
                closes.append { receive(.closed(closure)) }
            }
            receive(event)
        }
        let pusher = world.makeClient(transport: transport)
        pusher.connect()
        await world.run()
        world.network.cutLinks()
        await world.advance(by: .seconds(1))
        #expect(pusher.connection.connectionState == .connected)
        isKept.withLockedValue { $0 = false }
        let close = try #require(closes.take().first)
        try await world.loop.executeInContext { close() }
        await world.run()
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test("each loss has its own close code, and each socket replaces the previous one (NWWebSocket)")
    func ownCloseCodes() async throws {
        let delegate = RecordingDelegate()
        let pusher = try await world.makeConnectedClient()
        pusher.delegate = delegate
        for code in [4200, 4100, nil] {
            if let code { world.server.closeConnections(code: code) } else { world.network.cutLinks() }
            await world.advance(by: .seconds(1))
            #expect(pusher.connection.connectionState == .connected)
            #expect(try await world.leftovers(of: pusher).sockets == 1)
            await world.letServerNotice()
            #expect(world.server.connections.count == 1)
        }
        #expect(delegate.errors.elements.map(\.code) == [4200, 4100, nil])
    }

    @Test("a client that was suspended during its wait connects at its next input")
    func suspendedWhileWaiting() async throws {
        world.network.failLinks(1, with: .unreachable)
        let pusher = world.makeClient(.virtual(retryPolicy: .delays([.seconds(100)])))
        pusher.connect()
        await world.run()
        world.suspend(for: .seconds(3_600))
        pusher.subscribe("orders")
        await world.run()
        #expect(pusher.connection.connectionState == .connected)
    }
}

/// A transport that calls closures for its events, so a test can delay or repeat them.
struct ObservedTransport: Transport {
    let inner: any Transport
    let opened: @Sendable (TransportRequest) -> Void
    var received: @Sendable (TransportEvent, @escaping @Sendable (TransportEvent) -> Void) -> Void = { $1($0) }

    init(
        inner: any Transport,
        opened: @escaping @Sendable (TransportRequest) -> Void,
        received: @escaping @Sendable (TransportEvent, @escaping @Sendable (TransportEvent) -> Void) -> Void = {
            $1($0)
        }
    ) {
        self.inner = inner
        self.opened = opened
        self.received = received
    }

    func open(
        _ request: TransportRequest,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportConnection {
        opened(request)
        return inner.open(request, on: eventLoop) { received($0, receive) }
    }
}
