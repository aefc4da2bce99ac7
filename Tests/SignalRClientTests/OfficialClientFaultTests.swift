import NIOConcurrencyHelpers
import SignalRClient
import SignalRTestServer
import TestTraits
import Testing

/// Tests for the faults of Microsoft's Swift client 1.0.0-preview.4. The project has numbered the faults, and the name
/// of a test begins with the number of its fault.
///
/// `SignalRCoreTests` tests some of the faults in virtual time: fault 5 in `waitsBeforeEachAttempt`, fault 9 in
/// `anIdleLongPollStays`, and fault 11 in `unknownIDsAreIgnored` and `damagedFramesNeverTrap`.
/// `aRandomWalkKeepsAllPromises` tests the timers of fault 18. The programs in Swift 6 mode test fault 15.
@Suite(.limited) struct OfficialClientFaultTests {
    @Test func fault1ConnectsByWebSocketOnLinux() async throws {
        try await withConnection { connection, server in
            #expect(connection.transport == .webSockets)
            #expect(server.requests.contains { $0.headers["upgrade"] == "websocket" })
        }
    }

    @Test(arguments: Route.all) func fault2PendingCallsThrowWhenTheConnectionIsLost(_ route: Route) async throws {
        try await withConnection(route, mayEnd: true) { connection, server in
            let slow = Task { try await connection.invoke(method: "slow", arguments: 3600) }
            await server.waitForMessage { if case .invocation = $0 { true } else { false } }
            let stream = try await connection.stream("counter", 2, 3600, of: Int.self)
            var iterator = stream.makeAsyncIterator()
            let received = try await iterator.next()
            #expect(received == 0)
            server.dropConnections()
            await #expect(throws: (any Error).self) { try await slow.value }
            await #expect(throws: (any Error).self) { try await iterator.next() }
            let waiting = try await connection.waitingCallCount()
            #expect(waiting == 0)
        }
    }

    @Test(arguments: Route.all) func fault3AHandlerMayInvoke(_ route: Route) async throws {
        try await withConnection(route) { connection, _ in
            let inbox = Inbox<Int>()
            await connection.on("add") { [weak connection] (a: Int, b: Int) in
                guard let connection else { return }
                inbox.add(try await connection.invoke(method: "add", arguments: a, b))
            }
            try await connection.invoke(method: "call_me", arguments: "add", 40, 2)
            let received = try await inbox.next()
            #expect(received == 42)
        }
    }

    @Test(arguments: Route.all) func fault4TheServersCloseMessageIsObeyed(_ route: Route) async throws {
        for allowReconnect in [false, true] {
            let inbox = Inbox<String>()
            try await withConnection(route, { $0.withAutomaticReconnect([0]) }, mayEnd: true) { connection, _ in
                connection.onClosed { inbox.add("closed \($0.map { "\($0)" } ?? "")") }
                connection.onReconnecting { inbox.add("reconnecting \($0.map { "\($0)" } ?? "")") }
                connection.onReconnected { inbox.add("reconnected") }
                // The connection may close before the server answers the request.
                try? await connection.send(method: "close_me", arguments: "enough", allowReconnect)
                if allowReconnect {
                    let lines = await inbox.next(2)
                    #expect(lines[0].contains("enough") && lines[0].hasPrefix("reconnecting"))
                    #expect(lines[1] == "reconnected")
                } else {
                    let line = try await inbox.next()
                    #expect(line.hasPrefix("closed") && line.contains("enough"))
                    #expect(await connection.state() == .Stopped)
                }
            }
        }
    }

    @Test func fault6OneBadMessageDoesNotDropTheRest() async throws {
        try await withConnection { connection, server in
            let inbox = Inbox<Int>()
            await connection.on("number") { (number: Int) in inbox.add(number) }
            let messages = [
                #"{"type":1,"target":"number","arguments":["text"]}"#,
                #"{"type":1,"target":"number","arguments":[1,2]}"#,
                #"{"type":99}"#, #"{"type":3,"invocationId":"77"}"#, #"{"type":2,"invocationId":"","item":1}"#,
                #"{"arguments":[7],"target":"NUMBER","type":1}"#,
            ]
            server.sendBytes(messages.flatMap { Array($0.utf8) + [0x1E] })
            let received = try await inbox.next()
            #expect(received == 7)
        }
    }

    @Test(arguments: [404, 500, 301]) func fault7AnUnexpectedStatusEndsLongPolling(_ status: Int) async throws {
        try await withServer { server in
            await server.fail(.poll, .status(status), after: 2)
            let connection = HubConnectionBuilder.patient.withUrl(url: server.url, transport: .longPolling).build()
            let inbox = Inbox<(any Error)?>()
            connection.onClosed { inbox.add($0) }
            try await connection.start()
            // The server answers the second poll because of the call. The third poll fails, perhaps before the client
            // has sent the call.
            try? await connection.send(method: "call_me", arguments: "nobody")
            let error = try await inbox.next()
            #expect(code(error) == .transportClosed)
            #expect((error as? SignalRClientError)?.httpStatus == status)
            #expect(await connection.state() == .Stopped)
        }
    }

    @Test func fault8AFailedSendLeavesNoWaiter() async throws {
        try await withServer { server in
            await server.fail(.post, .status(500), after: 1, times: 100)
            let connection = HubConnectionBuilder.patient.withUrl(url: server.url, transport: .longPolling).build()
            try await connection.start()
            await #expect(throws: (any Error).self) { try await connection.invoke(method: "nothing") }
            let waiting = try await connection.waitingCallCount()
            #expect(waiting == 0)
        }
    }

    @Test func fault8AllHandlersOfAMethodRun() async throws {
        try await withConnection { connection, _ in
            let inbox = Inbox<String>()
            await connection.on("x") { () async throws -> Void in
                inbox.add("first")
                throw HubError("a handler that throws does not stop the others")
            }
            let second = await connection.on("x") { inbox.add("second") }
            await connection.on("X") { inbox.add("third") }
            try await connection.invoke(method: "call_me", arguments: "x")
            #expect(await inbox.next(3) == ["first", "second", "third"])
            second.cancel()
            try await connection.invoke(method: "call_me", arguments: "x")
            #expect(await inbox.next(2) == ["first", "third"])
            await connection.off(method: "x")
            await connection.on("y") { inbox.add("y") }
            try await connection.invoke(method: "call_me", arguments: "x")
            try await connection.invoke(method: "call_me", arguments: "y")
            let received = try await inbox.next()
            #expect(received == "y")
        }
    }

    @Test func fault10AHandlerThatThrowsAnswersTheServer() async throws {
        try await withConnection { connection, _ in
            await connection.on("ask") { (_: Int) throws -> Int in throw HubError("no answer") }
            await #expect(throws: SignalRError.invocationError(askMeError("no answer"))) {
                try await connection.invoke(method: "ask_me", arguments: "ask", 1)
            }
            await #expect(throws: SignalRError.self) {
                try await connection.invoke(method: "ask_me", arguments: "ask", "not a number")
            }
        }
    }

    @Test func fault12TheQueryOfTheURLSurvives() async throws {
        try await withServer { server in
            let url = server.url + "?my_=1&_=2"
            let connection = HubConnectionBuilder.patient.withUrl(url: url, transport: .longPolling).build()
            try await connection.start()
            try await connection.invoke(method: "nothing")
            await connection.stop()
            #expect(server.requests.count >= 5)
            #expect(server.requests.allSatisfy { $0.target.contains("?my_=1&_=2&") })
        }
    }

    @Test(arguments: Route.all) func fault13StopIsBoundedIfTheServerIsSilent(_ route: Route) async throws {
        let inbox = Inbox<Bool>()
        try await withConnection(route, { $0.withCloseTimeout(.milliseconds(200)) }, mayEnd: true) {
            connection,
            server in
            connection.onClosed { inbox.add($0 == nil) }
            await server.setSilent(true)
            await connection.stop()
            #expect(await connection.state() == .Stopped)
            let isClean = try await inbox.next()
            #expect(isClean)
        }
    }

    @Test(arguments: Route.all) func fault14NothingKeepsAReleasedConnection(_ route: Route) async throws {
        try await withServer(inMemory: route.isInMemory) { server in
            var connection: HubConnection? = route.builder(server).withAutomaticReconnect().build()
            await connection?.on("x") { (_: Int) in }
            connection?.onClosed { _ in }
            try await connection?.start()
            let stream = try await connection?.stream("counter", 10, 3600, of: Int.self)
            weak let released = connection
            connection = nil
            #expect(released == nil)
            await server.waitForDisconnections()
            _ = stream
        }
    }

    @Test(arguments: Route.all) func fault16TheProducerOfAnUploadIsCancelled(_ route: Route) async throws {
        try await withConnection(route, mayEnd: true) { connection, server in
            let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
            let ended = Inbox<Void>()
            continuation.onTermination = { _ in ended.add(()) }
            continuation.yield(1)
            try await connection.send(method: "add_stream", arguments: stream)
            await server.waitForMessage { if case .streamItem = $0 { true } else { false } }
            server.dropConnections()
            try await ended.next()
        }
    }

    @Test func fault17ServerSentEventsWorkOnLinux() async throws {
        try await withConnection(Route(transport: .serverSentEvents, hubProtocol: .json)) { connection, server in
            let text: String = try await connection.invoke(method: "echo", arguments: "line\nline")
            #expect(text == "line\nline")
            #expect(connection.transport == .serverSentEvents)
            #expect(server.requests.contains { $0.method == "GET" && $0.headers["accept"] == "text/event-stream" })
        }
    }

    @Test func fault18NamesOfMethodsHaveNoCase() async throws {
        try await withConnection { connection, _ in
            let inbox = Inbox<String>()
            await connection.on("ReceiveMessage") { (text: String) in inbox.add(text) }
            try await connection.invoke(method: "call_me", arguments: "receivemessage", "x")
            let received = try await inbox.next()
            #expect(received == "x")
        }
    }
}
