import ClientTestSupport
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Connecting", .limited, .overEachTransport)
struct ConnectingTests {
    let world = VirtualWorld()

    @Test("connect() returns while the client is connecting, and the greeting completes the connection")
    func connect() async throws {
        let delegate = RecordingDelegate()
        let pusher = world.makeClient()
        pusher.delegate = delegate
        #expect(pusher.connection.status == .initialized)
        try await world.atOnce {
            pusher.connect()
            #expect(pusher.connection.connectionState == .connecting)
            #expect(pusher.connection.socketId == nil)
        }
        await world.run()
        let socketID = try #require(pusher.connection.socketId)
        #expect(pusher.connection.status == .connected(socketID: socketID))
        #expect(world.server.connections.map(\.socketID) == [socketID])
        #expect(delegate.states.elements == [.connecting, .connected])
    }

    @Test(
        "the upgrade request has the client, version and protocol in its URL, and the app's headers",
        .ofWebSocketOnly
    )
    func request() async throws {
        let pusher = world.makeClient(
            PusherClientOptions(
                host: .host("server.test"),
                port: 8080,
                path: "/realtime/",
                useTLS: false,
                headers: ["X-Tenant": "7"],
                subprotocol: "pusher-channels-protocol-7",
                callbackQueue: .eventLoop,
                logger: .quiet
            )
        )
        let target = "/realtime/app/app-key?client=pusher-client-swift&version=\(Endpoint.version)&protocol=7"
        #expect(pusher.connection.url == "ws://server.test:8080" + target)
        pusher.connect()
        await world.run()
        let request = try #require(world.server.connections.first).request
        #expect(request.path + "?" + request.query == target)
        #expect(request.header("X-Tenant") == "7")
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test("connected() returns the socket id, even if the client is already connected")
    func connected() async throws {
        let pusher = world.makeClient()
        let socketID = try await world.complete { try await pusher.connected() }
        #expect(socketID == pusher.connection.socketId)
        #expect(try await world.complete { try await pusher.connected() } == socketID)
    }

    @Test("connected() waits during failed attempts, and cancelling the call does not stop the attempts")
    func cancelConnected() async throws {
        world.network.failLinks(with: .unreachable)
        let pusher = world.makeClient()
        let waiting = Task { try await pusher.connected() }
        await world.runUntil { pusher.connection.connectionState == .reconnecting }
        waiting.cancel()
        await world.runUntil { pusher.engine.read { $0.waiters.isEmpty } }
        await #expect(throws: CancellationError.self) { try await waiting.value }
        world.network.failLinks(with: nil)
        await world.advance(by: .seconds(1))
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test("connected() throws at once in a task that was cancelled before the call")
    func cancelledBefore() async throws {
        let pusher = world.makeClient()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await pusher.connected()
        }
        await #expect(throws: CancellationError.self) { try await world.complete { try await task.value } }
    }

    @Test("disconnect() cancels a running attempt (PusherSwift 459)")
    func disconnectWhileConnecting() async throws {
        world.server.failConnections(with: .stalled)
        let pusher = world.makeClient()
        pusher.connect()
        await world.run()
        pusher.disconnect()
        #expect(pusher.connection.connectionState == .disconnected)
        await world.advance(by: .seconds(3_600))
        #expect(pusher.connection.connectionState == .disconnected)
        #expect(world.server.connections.isEmpty)
        #expect(try await world.leftovers(of: pusher) == .none)
    }

    @Test("disconnect() before the first step of an attempt leaves no connection")
    func disconnectAtOnce() async throws {
        let pusher = world.makeClient()
        try await world.atOnce {
            pusher.connect()
            pusher.disconnect()
        }
        await world.advance(by: .seconds(60))
        #expect(pusher.connection.status == .disconnected(reason: nil))
        #expect(world.server.connections.isEmpty)
    }

    @Test("disconnected() returns when the connection is closed")
    func disconnected() async throws {
        let delegate = RecordingDelegate()
        let pusher = try await world.makeConnectedClient()
        pusher.delegate = delegate
        try await world.complete { await pusher.disconnected() }
        #expect(pusher.connection.status == .disconnected(reason: nil))
        #expect(delegate.states.elements == [.disconnecting, .disconnected])
        await world.letServerNotice()
        #expect(world.server.connections.isEmpty)
        try await world.complete { await pusher.disconnected() }
    }

    @Test("disconnecting completes even if the server never answers the closing handshake", .ofWebSocketOnly)
    func silentServerAtDisconnect() async throws {
        let pusher = try await world.makeConnectedClient()
        world.network.blackHoleLinks()
        pusher.disconnect()
        await world.run()
        #expect(pusher.connection.connectionState == .disconnecting)
        await world.advance(by: .seconds(2))
        #expect(pusher.connection.connectionState == .disconnected)
        #expect(try await world.leftovers(of: pusher) == .none)
    }

    @Test("connect() while the client disconnects opens a new connection")
    func connectWhileDisconnecting() async throws {
        let pusher = try await world.makeConnectedClient()
        let first = pusher.connection.socketId
        pusher.disconnect()
        pusher.connect()
        await world.run()
        #expect(pusher.connection.connectionState == .connected)
        #expect(pusher.connection.socketId != first)
        await world.letServerNotice()
        #expect(world.server.connections.count == 1)
    }

    @Test("a second connect() opens no second connection, and reports no state twice (PusherSwift 436)")
    func connectAgain() async throws {
        let opened = Log<TransportRequest>()
        let transport = ObservedTransport(inner: world.makeTransport()) { opened.append($0) }
        let delegate = RecordingDelegate()
        let pusher = world.makeClient(transport: transport)
        pusher.delegate = delegate
        try await world.atOnce { for _ in 1...3 { pusher.connect() } }
        await world.run()
        pusher.connect()
        await world.run()
        #expect(opened.count == 1)
        #expect(world.server.connections.count == 1)
        #expect(delegate.states.elements == [.connecting, .connected])
    }

    @Test("the client reports and throws an error for an invalid app key, and makes no attempt")
    func invalidKey() async throws {
        let delegate = RecordingDelegate()
        let pusher = world.makeClient(key: "my key")
        pusher.delegate = delegate
        let error = await #expect(throws: PusherClientError.self) {
            try await world.complete { _ = try await pusher.connected() }
        }
        #expect(error?.code == .invalidKey)
        #expect(error?.message.contains(#""my key""#) == true)
        #expect(delegate.errors.elements.map(\.clientError.code) == [.invalidKey])
        #expect(world.server.records.isEmpty)
    }

    @Test("run() connects until its task is cancelled, and then disconnects")
    func run() async throws {
        let pusher = world.makeClient()
        let running = Task { try await pusher.run() }
        await world.runUntil { pusher.connection.connectionState == .connected }
        running.cancel()
        await world.runUntil { pusher.connection.connectionState == .disconnected }
        try await running.value
    }

    @Test("an app can call run() again after a cancellation or a refusal")
    func runAgain() async throws {
        world.server.failConnections(1, with: .closed(code: 4001))
        let pusher = world.makeClient()
        await #expect(throws: PusherClientError.self) { try await world.complete { try await pusher.run() } }
        for _ in 1...2 {
            let running = Task { try await pusher.run() }
            await world.runUntil { pusher.connection.connectionState == .connected }
            running.cancel()
            await world.runUntil { pusher.connection.connectionState == .disconnected }
            try await running.value
        }
        let running = Task { try await pusher.run() }
        await world.runUntil { pusher.connection.connectionState == .connected }
        pusher.disconnect()
        try await world.complete { try await running.value }
    }

    @Test("connect() ends a wait between two attempts, but connected() does not")
    func connectedWhileWaiting() async throws {
        world.network.failLinks(1, with: .unreachable)
        let pusher = world.makeClient(.virtual(retryPolicy: .delays([.seconds(60)])))
        pusher.connect()
        await world.run()
        let waiting = Task { try await pusher.connected() }
        await world.runUntil { pusher.engine.read { !$0.waiters.isEmpty } }
        #expect(pusher.connection.connectionState == .reconnecting)
        pusher.connect()
        let socketID = try await world.complete { try await waiting.value }
        #expect(socketID == pusher.connection.socketId)
    }

    @Test("the client treats durations that would overflow as very long")
    func hugeTimeouts() async throws {
        let huge = Duration(secondsComponent: .max, attosecondsComponent: 0)
        let pusher = try await world.makeConnectedClient(
            .virtual(
                activityTimeout: .infinity,
                timeouts: .init(
                    connectionAttempt: huge,
                    unavailable: huge,
                    pong: huge,
                    subscription: huge,
                    closing: huge,
                    backOffReset: huge
                ),
                retryPolicy: .delays([huge])
            )
        )
        pusher.subscribe("orders")
        world.network.cutLinks()
        await world.run()
        #expect(pusher.connection.connectionState == .reconnecting)
    }

    @Test("run() throws if the server refuses the client")
    func runRefused() async throws {
        let pusher = world.makeClient(key: "unknown")
        let error = await #expect(throws: PusherClientError.self) {
            try await world.complete { try await pusher.run() }
        }
        #expect(error?.code == .connectionRefused)
        #expect(error?.serverCode == 4001)
    }

    @Test("withConnection() disconnects when its body returns or throws")
    func withConnection() async throws {
        struct Failure: Error {}
        let pusher = world.makeClient()
        let count = try await world.complete {
            try await pusher.withConnection { _ in world.server.connections.count }
        }
        #expect(count == 1)
        #expect(pusher.connection.connectionState == .disconnected)

        let working = Task {
            try await pusher.withConnection { _ in for await _ in pusher.events {} }
        }
        await world.runUntil { pusher.connection.connectionState == .connected }
        working.cancel()
        try await world.complete { try await working.value }
        await world.run()
        #expect(pusher.connection.connectionState == .disconnected)

        await #expect(throws: Failure.self) {
            try await world.complete { try await pusher.withConnection { _ in throw Failure() } }
        }
        #expect(pusher.connection.connectionState == .disconnected)
    }
}

@Suite("withConnection(), when the client stops", .limited, .overEachTransport)
struct EndOfConnectionTests {
    let world = VirtualWorld()

    /// Calls `withConnection()`, and returns when its body runs.
    private func begin<Value: Sendable>(
        _ options: PusherClientOptions = .virtual(),
        _ body: @escaping @Sendable (Pusher) async throws -> Value
    ) async -> (Pusher, Task<Value, any Error>) {
        let pusher = world.makeClient(options)
        let hasBegun = Log<Void>()
        let work = Task {
            try await pusher.withConnection { _ in
                hasBegun.append(())
                return try await body(pusher)
            }
        }
        await world.runUntil { hasBegun.count == 1 }
        return (pusher, work)
    }

    private static let iterate: @Sendable (Pusher) async throws -> Void = { pusher in
        for await _ in pusher.events {}
    }

    private func error<Value: Sendable>(of work: Task<Value, any Error>) async -> (any Error)? {
        await #expect(throws: (any Error).self) { try await world.complete { try await work.value } }
    }

    @Test(
        "after a refusal, withConnection() ends the body's loop over events, and throws the refusal",
        arguments: [4001, 4009, 4303]
    )
    func refused(code: Int) async throws {
        let (pusher, work) = await begin(.virtual(), Self.iterate)
        world.server.closeConnections(code: code, reason: "no")
        let error = await error(of: work) as? PusherClientError
        #expect(error?.code == .connectionRefused)
        #expect(error?.serverCode == code)
        #expect(pusher.connection.connectionState == .disconnected)
        #expect(try await world.leftovers(of: pusher) == .none)
        #expect(pusher.engine.read { $0.waiters.isEmpty })
    }

    @Test("withConnection() throws if the server terminates the user's connections")
    func terminated() async throws {
        let (pusher, work) = await begin(.virtual(user: "ada"), Self.iterate)
        try await world.complete { try await pusher.signedIn() }
        world.server.terminateConnections(ofUser: "ada")
        let error = await error(of: work) as? PusherClientError
        #expect(error?.serverCode == 4009)
    }

    @Test("withConnection() throws the reason if the client makes no more attempts", arguments: [true, false])
    func givenUp(reconnects: Bool) async throws {
        let options = PusherClientOptions.virtual(
            autoReconnect: reconnects,
            retryPolicy: .delays([.seconds(1)], repeatsLast: false)
        )
        let (_, work) = await begin(options, Self.iterate)
        world.server.failConnections(with: .refused(status: 503))
        world.server.dropConnections()
        await world.run()
        await world.advance(by: .seconds(1))
        let error = await error(of: work) as? PusherClientError
        #expect(error?.code == (reconnects ? .retriesExhausted : .connectionClosed))
    }

    @Test("the body of withConnection() continues if the client reconnects after a loss")
    func lossIsRecovered() async throws {
        let (pusher, work) = await begin { pusher in
            for await event in pusher.events where event.eventName == "last" { return event.data }
            return nil
        }
        world.server.dropConnections()
        await world.run()
        await world.advance(by: .seconds(1))
        await world.runUntil { pusher.connection.connectionState == .connected }
        world.server.sendEvent("last", data: "7")
        #expect(try await world.complete { try await work.value } == "7")
    }

    @Test(
        "withConnection() throws the connection's error, not the error of the cancelled body",
        arguments: 0..<3
    )
    func cancelledWork(answer: Int) async throws {
        struct Failure: Error {}
        let (_, work) = await begin { _ in
            do {
                try await Task.sleep(for: .seconds(3_600))
            } catch {
                switch answer {
                case 0: throw error
                case 1: throw Failure()
                default: break
                }
            }
            return answer
        }
        world.server.closeConnections(code: 4001)
        #expect((await error(of: work) as? PusherClientError)?.serverCode == 4001)
    }

    @Test("withConnection() waits for a body that ignores its cancellation")
    func stubbornWork() async throws {
        let mayEnd = FirstAnswer<Void>()
        let ended = Log<Bool>()
        let cancelled = Log<Void>()
        let (pusher, work) = await begin { _ in
            // A separate task does not notice the cancellation.
            await withTaskCancellationHandler {
                await Task { _ = await mayEnd.value() }.value
            } onCancel: {
                cancelled.append(())
            }
            ended.append(Task.isCancelled)
        }
        world.server.closeConnections(code: 4001)
        await world.runUntil { if case .refused = pusher.connection.status { true } else { false } }
        await world.runUntil { cancelled.count == 1 }
        #expect(ended.count == 0)
        mayEnd.give(())
        #expect((await error(of: work) as? PusherClientError)?.serverCode == 4001)
        #expect(ended.elements == [true])
    }

    @Test("withConnection() throws the error of its body if the caller is cancelled")
    func cancelledCaller() async throws {
        let (pusher, work) = await begin { _ in try await Task.sleep(for: .seconds(3_600)) }
        work.cancel()
        #expect(await error(of: work) is CancellationError)
        #expect(pusher.connection.connectionState == .disconnected)
    }

    @Test("disconnect() ends the body of withConnection(), and the call returns the body's value if there is one")
    func disconnected() async throws {
        let (iterating, first) = await begin { pusher in
            for await _ in pusher.events {}
            return 7
        }
        iterating.disconnect()
        #expect(try await world.complete { try await first.value } == 7)
        let (sleeping, second) = await begin { _ in try await Task.sleep(for: .seconds(3_600)) }
        sleeping.disconnect()
        #expect((await error(of: second) as? PusherClientError)?.code == .disconnected)
        // The body itself can disconnect.
        let (_, third) = await begin { pusher in
            pusher.disconnect()
            return 8
        }
        #expect(try await world.complete { try await third.value } == 8)
    }

    @Test("the body of withConnection() continues if the app requests a new connection")
    func reconnectNow() async throws {
        let (pusher, work) = await begin { pusher in
            for await event in pusher.events where event.eventName == "last" { return event.data }
            return nil
        }
        pusher.reconnectNow()
        await world.run()
        // Both calls run in one step, because a complete disconnect would end the body.
        try await world.atOnce {
            pusher.disconnect()
            pusher.connect()
        }
        await world.run()
        try #require(pusher.connection.connectionState == .connected)
        world.server.sendEvent("last", data: "7")
        #expect(try await world.complete { try await work.value } == "7")
    }

    @Test("withConnection() does not run its body if the server refuses the client at once")
    func refusedBefore() async throws {
        let pusher = world.makeClient(key: "unknown")
        let error = await #expect(throws: PusherClientError.self) {
            try await world.complete {
                try await pusher.withConnection { _ in _ = Issue.record("the body runs") }
            }
        }
        #expect(error?.serverCode == 4001)
    }

    @Test("the body of withConnection() runs on the caller's actor, and can use its state")
    @MainActor
    func isolation() async throws {
        final class Counter { var count = 0 }
        try await PusherTestServer.withServer { server in
            let pusher = Pusher(
                key: server.options.application.key,
                options: PusherClientOptions(host: .host(server.host), port: server.port, useTLS: false, logger: .quiet)
            )
            let counter = Counter()
            let same = try await pusher.withConnection { socketID in
                MainActor.assertIsolated()
                counter.count += socketID.isEmpty ? 0 : 1
                return counter
            }
            #expect(same.count == 1)
        }
    }
}
