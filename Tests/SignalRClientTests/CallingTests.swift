import SignalRClient
import SignalRTestServer
import TestSupport
import TestTraits
import Testing

@Suite(.limited) struct CallingTests {
    @Test(arguments: Route.all) func aCancelledCallThrowsAtOnceAndTellsTheServer(_ route: Route) async throws {
        try await withConnection(route) { connection, server in
            let task = Task { try await connection.invoke(method: "slow", arguments: 3600) }
            await server.waitForMessage { if case .invocation = $0 { true } else { false } }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            await server.waitForMessage { if case .cancelInvocation = $0 { true } else { false } }
            let waiting = try await connection.waitingCallCount()
            #expect(waiting == 0)
            let cancelled = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await connection.invoke(method: "slow", arguments: 3600)
            }
            await #expect(throws: CancellationError.self) { try await cancelled.value }
        }
    }

    @Test func aMethodOfTheTestReplacesABuiltInMethod() async throws {
        try await withConnection(Route.all[0]) { connection, server in
            server.on("echo") { (_: TestHubCall, text: String) in text + "!" }
            server.on("slow") { (_: TestHubCall) in "fast" }
            let echo: String = try await connection.invoke(method: "echo", arguments: "a")
            let slow: String = try await connection.invoke(method: "slow")
            #expect(echo == "a!" && slow == "fast")
        }
    }

    @Test func aCallHasATimeout() async throws {
        try await withConnection(Route.all[0], { $0.withInvocationTimeout(.milliseconds(50)) }) { connection, server in
            let error = await #expect(throws: SignalRClientError.self) {
                try await connection.invoke(method: "slow", arguments: 3600)
            }
            #expect(error?.code == .callTimedOut)
            await server.waitForMessage { if case .cancelInvocation = $0 { true } else { false } }
            #expect(await connection.state() == .Connected)
        }
    }

    @Test func callsWithoutAConnectionThrowAtOnce() async throws {
        let connection = HubConnectionBuilder.patient.withUrl(url: "http://127.0.0.1:1/hub").build()
        await #expect(throws: SignalRError.self) { try await connection.invoke(method: "x") }
        await #expect(throws: SignalRError.self) { try await connection.send(method: "x") }
        await #expect(throws: SignalRError.self) { _ = try await connection.stream("x", of: Int.self) }
        await #expect(throws: SignalRError.self) { try await connection.connected() }
        await #expect(throws: SignalRClientError.self) { try await connection.start() }
        await connection.stop()
    }

    @Test func anArgumentThatCannotBeSentIsNamed() async throws {
        struct Secret: Sendable {}
        try await withConnection { connection, _ in
            let error = await #expect(throws: SignalRClientError.self) {
                try await connection.send(method: "echo", arguments: 1, Secret())
            }
            #expect(error?.message.contains("Argument 1") == true)
            let infinite = await #expect(throws: SignalRClientError.self) {
                try await connection.send(method: "echo", arguments: Double.infinity)
            }
            #expect(infinite?.message.contains("Argument 0") == true)
            await #expect(throws: SignalRClientError.self) {
                try await connection.send(method: "echo", arguments: AsyncStream<Secret> { $0.finish() })
            }
        }
    }

    @Test(arguments: Route.all) func breakingOutOfALoopCancelsTheStream(_ route: Route) async throws {
        try await withConnection(route) { connection, server in
            let stream = try await connection.stream("counter", 1_000_000, 0.01, of: Int.self)
            for try await item in stream where item == 2 { break }
            await server.waitForMessage { if case .cancelInvocation = $0 { true } else { false } }
            // A second loop gets no items, because the first loop cancelled the stream.
            for try await _ in stream { Issue.record("The stream goes on.") }
            _ = try await connection.stream("counter", 1_000_000, 0.01, of: Int.self)
            await server.waitForRequests { _ in true }
            #expect(try await connection.invoke("add", 1, 2, returning: Int.self) == 3)
        }
    }

    @Test func theServerLearnsOnlyTheTextOfAHubError() async throws {
        struct Failure: Error { var secret = "hidden" }
        for (error, text) in [
            (Failure(), "The client's stream failed."), (HubError("no more"), "no more"),
            (SignalRClientError(.callEnded, "hidden"), "The client's stream failed."),
        ] as [(any Error, String)] {
            try await withConnection { connection, server in
                let upload = AsyncThrowingStream<Int, any Error> { continuation in
                    continuation.yield(1)
                    continuation.finish(throwing: error)
                }
                await #expect(throws: SignalRError.self) {
                    let _: Int = try await connection.invoke(method: "add_stream", arguments: upload)
                }
                let texts = server.messages.compactMap { message in
                    if case .completion(_, .error(let text), _) = message { text } else { nil }
                }
                #expect(texts == [text])
            }
        }
    }

    @Test func concurrentHandlersDoNotWaitForEachOther() async throws {
        try await withConnection { connection, _ in
            let inbox = Inbox<Int>()
            let (gate, open) = AsyncStream.makeStream(of: Void.self)
            await connection.onConcurrent("x") { (number: Int) in
                if number == 1 { for await _ in gate { break } }
                inbox.add(number)
                open.yield()
            }
            try await connection.invoke(method: "call_me", arguments: "x", 1)
            try await connection.invoke(method: "call_me", arguments: "x", 2)
            #expect(await inbox.next(2) == [2, 1])
        }
    }

    @Test func aStreamThatNobodyReadsIsBounded() async throws {
        try await withServer { server in
            var options = HttpConnectionOptions()
            options.receiveBufferSize = 10_000
            let connection = HubConnectionBuilder.patient.withUrl(url: server.url, options: options).build()
            try await connection.start()
            let stream = try await connection.stream("counter", 1_000_000, 0.0001, of: Int.self)
            await server.waitForMessage { if case .cancelInvocation = $0 { true } else { false } }
            var count = 0
            let error = await #expect(throws: SignalRClientError.self) {
                for try await _ in stream { count += 1 }
            }
            #expect(error?.code == .receiveBufferFull && count > 100)
            await connection.stop()
        }
    }

    @Test func handlersThatAreTooSlowEndTheConnection() async throws {
        try await withServer { server in
            var options = HttpConnectionOptions()
            options.receiveBufferSize = 10_000
            let connection = HubConnectionBuilder.patient.withUrl(url: server.url, options: options).build()
            let closed = Inbox<(any Error)?>()
            connection.onClosed { closed.add($0) }
            let (gate, open) = AsyncStream.makeStream(of: Void.self)
            await connection.on("x") { (_: Int) in for await _ in gate { break } }
            try await connection.start()
            for number in 0..<100 { server.sendAll("x", number) }
            let error = try await closed.next()
            #expect(code(error) == .receiveBufferFull)
            open.finish()
        }
    }

    @Test func concurrentHandlersAreBounded() async throws {
        try await withServer { server in
            var options = HttpConnectionOptions()
            options.receiveBufferSize = 10_000
            let connection = HubConnectionBuilder.patient.withUrl(url: server.url, options: options).build()
            let lines = Inbox<String>()
            connection.onClosed { lines.add("closed: \(code($0)?.rawValue ?? "")") }
            let (gate, open) = AsyncStream.makeStream(of: Void.self)
            await connection.onConcurrent("x") { (_: Int) in
                lines.add("begun")
                for await _ in gate { break }
                lines.add("ended")
            }
            try await connection.start()
            // The client counts more than 300 bytes for each call.
            for number in 0..<100 {
                server.sendAll("x", number)
                #expect(try await lines.next() == "begun")
                open.yield()
                #expect(try await lines.next() == "ended")
            }
            var begun = 0
            var line = "begun"
            while line == "begun", begun < 40 {
                server.sendAll("x", begun)
                line = try await lines.next()
                begun += 1
            }
            #expect(line == "closed: receiveBufferFull")
            open.finish()
        }
    }

    @Test(arguments: Route.all.prefix(2)) func anItemThatTheTypeRejectsCancelsTheStream(_ route: Route) async throws {
        struct Picky: Decodable, Sendable {
            struct Rejection: Error {}

            init(from decoder: any Decoder) throws { throw Rejection() }
        }
        try await withConnection(route) { connection, server in
            let result: any StreamResult<Picky> = try await connection.stream(
                method: "counter",
                arguments: 2,
                3600
            )
            let error = await #expect(throws: SignalRClientError.self) {
                for try await _ in result.stream {}
            }
            #expect(error?.code == .decodingFailed && error?.cause is Picky.Rejection)
            await server.waitForMessage { if case .cancelInvocation = $0 { true } else { false } }
            withExtendedLifetime(result) {}
        }
    }

    @Test func aStreamOfALostConnectionKeepsNoUpload() async throws {
        let opener = BareOpener()
        let connection = HubConnectionBuilder.patient.withUrl(url: "http://127.0.0.1").withOpener(opener).build()
        try await connection.start()
        let (uploads, _) = AsyncStream.makeStream(of: Int.self)
        // The event loop handles the loss before the call, and the call has checked the state before the loss.
        let result: any StreamResult<Int> = try await opener.blockingTheLoop {
            try await connection.stream(method: "add_stream", arguments: uploads)
        }
        await #expect(throws: SignalRError.self) { for try await _ in result.stream {} }
        #expect(try await connection.waitingCallCount() == 0)
    }

    // MARK: Releasing the connection

    @Test func sequencesEndWithTheirConnection() async throws {
        try await withServer { server in
            var connection: HubConnection? = Route.all[0].builder(server).build()
            try await connection?.start()
            let states = try #require(connection?.statuses)
            let calls = try #require(connection?.messages(of: "x", as: Int.self))
            let removed = try #require(connection?.messages(of: "y", as: Int.self))
            await connection?.off(method: "y")
            for await _ in removed {}
            server.sendAll("x", 1)
            var iterator = calls.makeAsyncIterator()
            #expect(await iterator.next() == 1)
            weak let engine = connection?.engineObject
            connection = nil
            #expect(await iterator.next() == nil)
            var last: HubConnectionStatus?
            for await status in states { last = status }
            guard case .stopped(nil) = last else { return #expect(Bool(false), "the last status is \(last as Any)") }
            await waitUntil { engine == nil }
        }
    }

    @Test func manyConnectionsLeaveNothingBehind() async throws {
        var options = TestHubOptions()
        // The default is shorter than the time that a busy machine may need between negotiation and transport.
        options.disconnectTimeout = .seconds(3_600)
        try await withServer(options) { server in
            var engines: [WeakReference] = []
            for round in 0..<120 {
                let route = Route.all[round % Route.all.count]
                let builder = route.builder(server).withAutomaticReconnect()
                let connection = builder.withInvocationTimeout(.seconds(60)).build()
                try await connection.start()
                try await connection.invoke(method: "nothing")
                await connection.stop()
                let residue = try await connection.residueCount()
                guard residue == 0 else {
                    Issue.record("\(residue) calls, timers, tasks or transports after \(round) of \(route)")
                    break
                }
                engines.append(WeakReference(connection.engineObject))
            }
            await waitUntil { engines.allSatisfy { $0.object == nil } }
            #expect(engines.allSatisfy { $0.object == nil })
            await server.waitForDisconnections(count: engines.count)
        }
    }

    private struct WeakReference {
        private(set) weak var object: AnyObject?

        init(_ object: AnyObject) { self.object = object }
    }
}
