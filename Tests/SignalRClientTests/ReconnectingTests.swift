import Foundation
import NIOConcurrencyHelpers
import SignalRClient
import SignalRTestServer
import TestSupport
import TestTraits
import Testing

@Suite(.limited) struct ReconnectingTests {
    @Test(arguments: Route.all) func handlersSurviveAReconnect(_ route: Route) async throws {
        let inbox = Inbox<String>()
        try await withConnection(route, { $0.withAutomaticReconnect([0, 0.01, 0.01]) }) { connection, server in
            connection.onReconnecting { inbox.add("reconnecting \($0 != nil)") }
            connection.onReconnected { inbox.add("reconnected") }
            await connection.on("x") { (text: String) in inbox.add(text) }
            let id = connection.connectionId
            server.dropConnections()
            #expect(await inbox.next(2) == ["reconnecting true", "reconnected"])
            #expect(connection.connectionId != id)
            try await connection.invoke(method: "call_me", arguments: "x", "again")
            let received = try await inbox.next()
            #expect(received == "again")
        }
    }

    @Test(arguments: Route.all) func aLossHasOneCodeOnAllTransports(_ route: Route) async throws {
        let ends = Inbox<(any Error)?>()
        try await withConnection(route, mayEnd: true) { connection, server in
            connection.onClosed { ends.add($0) }
            server.dropConnections()
            let error = try await ends.next()
            #expect(code(error) == .transportClosed, "\(String(describing: error))")
        }
    }

    @Test func aCallWhileReconnectingSaysSo() async throws {
        try await withConnection(Route.all[0], { $0.withAutomaticReconnect([3600]) }) { connection, server in
            server.dropConnections()
            await wait(connection) { if case .waiting = $0 { true } else { false } }
            func reason(_ call: () async throws -> Void) async -> String {
                do {
                    try await call()
                    return "no error"
                } catch {
                    return "\(error)"
                }
            }
            let reasons = [
                await reason { try await connection.send(method: "nothing") },
                await reason { try await connection.invoke(method: "nothing") },
                await reason { _ = try await connection.stream("counter", 1, of: Int.self) },
            ]
            for text in reasons {
                #expect(text.hasSuffix("the client is reconnecting. Call connected() first."), "\(text)")
            }
        }
    }

    @Test func eachReconnectHasAFreshToken() async throws {
        try await withServer { server in
            let count = NIOLockedValueBox(0)
            var options = HttpConnectionOptions()
            options.accessTokenFactory = {
                count.withLockedValue { count in
                    count += 1
                    return "\(count)"
                }
            }
            let connection = HubConnectionBuilder.patient.withUrl(url: server.url, options: options)
                .withAutomaticReconnect([0]).build()
            try await connection.start()
            server.dropConnections()
            await server.waitForConnections(count: 2)
            #expect(
                server.requests.map { $0.headers["authorization"] }
                    == ["Bearer 1", "Bearer 1", "Bearer 2", "Bearer 2"]
            )
            await connection.stop()
        }
    }

    @Test func thePolicySeesTheStatusOfFailedAttempts() async throws {
        struct Policy: RetryPolicy {
            let inbox: Inbox<Int?>
            func nextRetryInterval(retryContext: RetryContext) -> TimeInterval? {
                let status = (retryContext.retryReason as? SignalRClientError)?.httpStatus
                inbox.add(status)
                return status == 401 ? nil : 0
            }
        }
        let inbox = Inbox<Int?>()
        let closed = Inbox<(any Error)?>()
        try await withConnection(
            Route.all[0],
            { $0.withAutomaticReconnect(Policy(inbox: inbox)) },
            mayEnd: true
        ) { connection, server in
            connection.onClosed { closed.add($0) }
            await server.fail(.negotiate, .status(401))
            server.dropConnections()
            #expect(await inbox.next(2) == [nil, 401])
            let error = try await closed.next()
            #expect((error as? SignalRClientError)?.httpStatus == 401)
        }
    }

    /// The request that the server refuses, beside the negotiation.
    private static let refused: [(transport: String, words: String)?] = [
        nil, ("WebSockets", "WebSocket to"), ("ServerSentEvents", "Event stream failed:"),
        ("LongPolling", "Poll failed:"),
    ]

    @Test(
        "the Retry-After of a refusal is the shortest wait before the next attempt, and the error has the address",
        arguments: refused.indices
    )
    func retryAfter(index: Int) async throws {
        struct AtOnce: RetryPolicy {
            func nextRetryInterval(retryContext: RetryContext) -> TimeInterval? { 0 }
        }
        let refused = Self.refused[index]
        try await withServer { server in
            let refusal = TestHubResponse(status: 503, headers: ["Retry-After": "3600"])
            server.respond(at: "/busy/negotiate") { _ in
                guard let refused else { return refusal }
                let transport = #"{"transport":"\#(refused.transport)","transferFormats":["Text"]}"#
                let answer = #"{"connectionId":"x","availableTransports":[\#(transport)]}"#
                return TestHubResponse(status: 200, body: Array(answer.utf8))
            }
            server.respond(at: "/busy") { _ in refusal }
            let url = "http://127.0.0.1:\(server.port)/busy"
            let connection = HubConnectionBuilder.patient.withUrl(url: "\(url)?key=hush").build()
            let states = connection.statuses
            let starting = Task { try? await connection.start(retrying: AtOnce()) }
            for await state in states {
                guard case .waiting(_, 2, let reason) = state else { continue }
                #expect(state.remaining() ?? .zero > .seconds(3_500))
                let text = reason.map { "\($0)" } ?? ""
                #expect(text.contains("\(refused?.words ?? "Negotiation failed:") \(url)"), "\(text)")
                #expect(text.contains("HTTP status 503") && !text.contains("hush"), "\(text)")
                break
            }
            await connection.stop()
            await starting.value
        }
    }

    @Test func statesTellWhatHappens() async throws {
        try await withConnection(Route.all[0], { $0.withAutomaticReconnect([0.01]) }) { connection, server in
            let states = connection.statuses
            server.dropConnections()
            var seen: [String] = []
            for await state in states {
                switch state {
                case .stopped: seen.append("stopped")
                case .connecting(let attempt): seen.append("connecting \(attempt)")
                case .connected(let id, let transport): seen.append("connected \(id ?? "") \(transport.rawValue)")
                case .waiting(_, let attempt, let reason):
                    seen.append("waiting \(attempt) \(state.remaining() ?? .zero < .seconds(1)) \(reason != nil)")
                case .resuming, .resumed: seen.append("resumed")
                }
                if seen.count == 4 { break }
            }
            #expect(seen == ["connected id-1 1", "waiting 2 true true", "connecting 2", "connected id-2 1"])
        }
    }

    @Test func stopIsPossibleInEveryCallback() async throws {
        for callback in 0..<3 {
            let inbox = Inbox<Void>()
            try await withConnection(
                Route.all[0],
                { $0.withAutomaticReconnect([0, 0]) },
                mayEnd: true
            ) { connection, server in
                let stop: @Sendable () async -> Void = { [weak connection] in
                    await connection?.stop()
                    inbox.add(())
                }
                switch callback {
                case 0: connection.onReconnecting { _ in await stop() }
                case 1: connection.onReconnected { await stop() }
                default: await connection.on("stop") { await stop() }
                }
                if callback == 2 {
                    try await connection.send(method: "call_me", arguments: "stop")
                } else {
                    server.dropConnections()
                }
                try await inbox.next()
                #expect(await connection.state() == .Stopped)
                try await connection.start()
            }
        }
    }

    @Test func runReturnsWithTheConnection() async throws {
        try await withServer { server in
            let connection = HubConnectionBuilder.patient.withUrl(url: server.url).build()
            let task = Task { try await connection.run() }
            await server.waitForConnections()
            server.closeConnections(error: "over")
            let error = await #expect(throws: SignalRClientError.self) { try await task.value }
            #expect(error?.code == .serverClosed)
            let second = Task { try await connection.run() }
            await server.waitForConnections(count: 2)
            second.cancel()
            await #expect(throws: CancellationError.self) { try await second.value }
            #expect(await connection.state() == .Stopped)
        }
    }

    @Test func runBelongsToItsOwnConnection() async throws {
        try await withServer(inMemory: true) { server in
            let builder = HubConnectionBuilder.patient.withUrl(url: server.url).withCloseTimeout(.seconds(3600))
            let connection = server.connect(builder).build()
            try await connection.start()
            // While the server is silent, the first connection stays in the state of closing.
            await server.setSilent(true)
            let stop = Task { await connection.stop() }
            await waitUntil { await connection.state() == .Stopped }
            await #expect(throws: SignalRError.self) { try await connection.connected() }
            let run = Task { try await connection.run() }
            await waitUntil { await connection.state() == .Connecting }
            let waiting = Task {
                try await connection.connected()
                return await connection.state()
            }
            await server.setSilent(false)
            server.dropConnections()
            await stop.value
            #expect(try await waiting.value == .Connected)
            await server.waitForConnections(count: 2)
            server.closeConnections(error: "over")
            let error = await #expect(throws: SignalRClientError.self) { try await run.value }
            #expect(error?.code == .serverClosed)
        }
    }

    // MARK: Retrying the start

    @Test func aStartIsRetriedUntilThereIsAConnection() async throws {
        try await withServer { server in
            await server.fail(.negotiate, .status(503), times: 2)
            let connection = HubConnectionBuilder.patient.withUrl(url: server.url).build()
            let states = connection.statuses
            try await connection.start(retrying: .delays([.milliseconds(10)]))
            var seen: [String] = []
            for await state in states {
                if case .waiting(_, let attempt, let reason) = state {
                    seen.append("\(attempt) \((reason as? SignalRClientError)?.httpStatus ?? 0)")
                }
                if case .connected = state { break }
            }
            #expect(seen == ["2 503", "3 503"])
            #expect(try await connection.invoke("add", 40, 2, returning: Int.self) == 42)
            await connection.stop()
        }
    }

    @Test func aStartFailsWithItsLastErrorIfThePolicyStops() async throws {
        try await withServer { server in
            await server.fail(.negotiate, .status(503), times: 2)
            await server.fail(.negotiate, .status(403))
            let connection = HubConnectionBuilder.patient.withUrl(url: server.url).withAutomaticReconnect(.forever)
                .build()
            let error = await #expect(throws: SignalRClientError.self) {
                try await connection.start(retrying: .delays([.zero, .zero], repeatsLast: false))
            }
            #expect(error?.httpStatus == 403)
            #expect(server.requests.count == 3)
            // The policy of the earlier start does not apply to this start.
            await server.fail(.negotiate, .status(500))
            await #expect(throws: SignalRClientError.self) { try await connection.start() }
            #expect(server.requests.count == 4)
        }
    }

    @Test func stopEndsAStartThatWaitsForItsNextAttempt() async throws {
        try await withServer { server in
            await server.fail(.negotiate, .status(503))
            let connection = HubConnectionBuilder.patient.withUrl(url: server.url).build()
            let start = Task { try await connection.start(retrying: .delays([.seconds(3_600)])) }
            await wait(connection) { if case .waiting(_, 2, _) = $0 { true } else { false } }
            #expect(await connection.state() == .Connecting)
            await connection.stop()
            await #expect(throws: SignalRError.connectionAborted) { try await start.value }
        }
    }

    @Test func runMayRetryItsStart() async throws {
        try await withServer { server in
            await server.fail(.negotiate, .status(503))
            let connection = HubConnectionBuilder.patient.withUrl(url: server.url).build()
            let run = Task { try await connection.run(retrying: .delays([.zero])) }
            await server.waitForConnections()
            run.cancel()
            await #expect(throws: CancellationError.self) { try await run.value }
        }
    }

    @Test func waitingForAConnectionHasATimeout() async throws {
        try await withServer { server in
            await server.fail(.negotiate, .silence)
            let connection = HubConnectionBuilder.patient.withUrl(url: server.url).build()
            let start = Task { try await connection.start() }
            await server.waitForRequests { !$0.isEmpty }
            let error = await #expect(throws: SignalRClientError.self) {
                try await connection.connected(timeout: .milliseconds(50))
            }
            #expect(error?.code == .waitTimedOut)
            await connection.stop()
            await #expect(throws: SignalRError.connectionAborted) { try await start.value }
            try await connection.start()
            try await connection.connected(timeout: .zero)
            await connection.stop()
        }
    }

    // MARK: Stateful

    static let stateful = Route.all.filter { $0.transport == .webSockets }

    @Test(arguments: stateful) func callsAndStreamsSurviveALoss(_ route: Route) async throws {
        try await withConnection(route, { $0.withStatefulReconnect() }) { connection, server in
            let id = connection.connectionId
            async let slow: String = connection.invoke(method: "slow", arguments: 0.2)
            let stream = try await connection.stream("counter", 40, 0.01, of: Int.self)
            var items: [Int] = []
            for try await item in stream {
                items.append(item)
                if item == 5 || item == 20 { server.dropConnections() }
            }
            #expect(items == Array(0..<40))
            let answer = try await slow
            #expect(answer == "done")
            #expect(connection.connectionId == id)
            #expect(server.connectionCount == 1)
        }
    }

    @Test func messagesOfALossArriveOnce() async throws {
        let inbox = Inbox<Int>()
        try await withConnection(Route.all[0], { $0.withStatefulReconnect() }) { connection, server in
            await connection.on("number") { (number: Int) in inbox.add(number) }
            for start in stride(from: 0, to: 200, by: 50) {
                for number in start..<start + 50 {
                    if number == start + 25 { server.dropConnections() }
                    try await connection.send(method: "call_me", arguments: "number", number)
                }
                let numbers = await inbox.next(50)
                #expect(numbers == Array(start..<start + 50))
            }
        }
    }

    @Test(arguments: stateful) func callsWaitWhileTheBufferIsFull(_ route: Route) async throws {
        var options = StatefulReconnectOptions()
        options.bufferSize = 1_000
        let received = Inbox<Int>()
        try await withConnection(route, { $0.withStatefulReconnect(options: options) }) { connection, server in
            server.on("note") { (_, number: Int, _: String) in received.add(number) }
            // While the server is silent, it ignores the client's messages, and acknowledges nothing.
            await server.setSilent(true)
            let text = String(repeating: "x", count: 600)
            try await connection.send(method: "note", arguments: 1, text)
            try await connection.send(method: "note", arguments: 2, text)
            #expect(try await connection.waitingCallCount() == 0)
            let third = Task { try await connection.send(method: "note", arguments: 3, text) }
            try await waitUntil { try await connection.waitingCallCount() == 1 }
            let fourth = Task { try await connection.send(method: "note", arguments: 4, text) }
            try await waitUntil { try await connection.waitingCallCount() == 2 }
            await server.setSilent(false)
            server.dropConnections()
            // The client sends the first two messages again. Their acknowledgement makes space for the other messages.
            try await third.value
            try await fourth.value
            #expect(await received.next(4) == [1, 2, 3, 4])
            #expect(server.connectionCount == 1)
        }
    }

    @Test(arguments: stateful) func whatWasLostOnTheWayIsSentAgain(_ route: Route) async throws {
        let (toServer, toClient) = (Inbox<Int>(), Inbox<Int>())
        try await withConnection(route, { $0.withStatefulReconnect() }) { connection, server in
            server.on("note") { (_, number: Int) in toServer.add(number) }
            await connection.on("note") { (number: Int) in toClient.add(number) }
            try await connection.send(method: "note", arguments: 1)
            server.sendAll("note", 1)
            #expect(await toServer.next(1) + toClient.next(1) == [1, 1])
            // Both sides send messages that the other side does not receive.
            await server.setSilent(true)
            for number in 2...3 {
                try await connection.send(method: "note", arguments: number)
                server.sendAll("note", number)
            }
            await server.setSilent(false)
            server.dropConnections()
            try await connection.send(method: "note", arguments: 4)
            server.sendAll("note", 4)
            #expect(await toServer.next(3) == [2, 3, 4])
            #expect(await toClient.next(3) == [2, 3, 4])
        }
    }

    @Test func aServerThatHasForgottenTheConnectionLeadsToAReconnect() async throws {
        try await withServer { server in
            let connection = HubConnectionBuilder.patient.withUrl(url: server.url, transport: .webSockets)
                .withStatefulReconnect().withAutomaticReconnect([0]).build()
            try await connection.start()
            await server.fail(.webSocket, .status(404), times: 1)
            let reconnected = Inbox<Void>()
            connection.onReconnected { reconnected.add(()) }
            server.dropConnections()
            try await reconnected.next()
            await server.waitForConnections(count: 2)
            await connection.stop()
        }
    }
}
