import SignalRClient
import SignalRTestServer
import TestTraits
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Tests of programs in Swift 6 mode.
@Suite(.limited) struct SignalRSwift6ProgramTests {
    static let expected = [
        "true", "none", "one a", "two me hello", "three 1 2.5 true", #"four nil [1, 2] ["a": 1] Oslo"#,
        "nine [1, 2, 3, 4, 5, 6, 7, 8, 9]", "sum 42", "result x", "next 2", "echo true", "item 0", "item 1", "item 2",
        "total 6", "failed true", "true", "closed true",
    ]

    /// Collects lines from any thread.
    actor Lines {
        private(set) var lines: [String] = []
        func add(_ line: String) { lines.append(line) }
    }

    @Test(arguments: 0..<13) func everyDocumentedCallWorks(builder index: Int) async throws {
        let server = try await SignalRTestServer.start()
        let connection = documentedBuilders(url: server.url)[index].build()
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        try await documentedProgram(connection) { continuation.yield($0) }
        var received: Set<String> = []
        for await line in lines {
            received.insert(line)
            if received.isSuperset(of: Self.expected) { break }
        }
        #expect(!received.contains { $0.hasPrefix("late") })
        #expect(documentedName(of: .Stopped) == "stopped" && documentedText(of: .serverTimeout(3)) == "3.0")
        #expect(documentedValues())
        await server.shutdown()
    }

    @Test func anHttpClientOfTheAppIsUsed() async throws {
        var options = HttpConnectionOptions()
        options.httpClient = CannedHttpClient()
        let connection = HubConnectionBuilder().withUrl(url: "http://127.0.0.1:1/hub", options: options).build()
        await #expect(throws: SignalRError.negotiationError("canned")) { try await connection.start() }
    }

    /// The client of the overview.
    struct SessionClient: HttpClient {
        func send(request: HttpRequest) async throws -> (StringOrData, HttpResponse) {
            guard let url = URL(string: request.url) else { throw URLError(.badURL) }
            var sent = URLRequest(url: url, timeoutInterval: request.timeout)
            sent.httpMethod = request.method.rawValue
            sent.allHTTPHeaderFields = request.headers
            switch request.content {
            case .string(let text)?: sent.httpBody = Data(text.utf8)
            case .data(let data)?: sent.httpBody = data
            case nil: break
            }
            let answer = try await Task { [sent] in try await URLSession.shared.data(for: sent) }.value
            guard let response = answer.1 as? HTTPURLResponse else { throw URLError(.badServerResponse) }
            return (.data(answer.0), HttpResponse(statusCode: response.statusCode))
        }
    }

    @Test func anHttpClientOverURLSessionConnectsAndStops() async throws {
        let server = try await SignalRTestServer.start()
        var options = HttpConnectionOptions()
        options.httpClient = SessionClient()
        options.transport = .longPolling
        for _ in 0..<10 {
            let connection = HubConnectionBuilder().withUrl(url: server.url, options: options).build()
            try await connection.start()
            let sum: Int = try await connection.invoke(method: "add", arguments: 40, 2)
            #expect(sum == 42)
            await connection.stop()
        }
        await server.waitForDisconnections(count: 10)
        await server.shutdown()
    }

    @Test func aMissingURLIsAnErrorOfTheStart() async {
        await #expect(throws: SignalRError.self) { try await HubConnectionBuilder().build().start() }
        await #expect(throws: SignalRError.self) {
            try await HubConnectionBuilder().withUrl(url: "no url").build().start()
        }
    }

    // MARK: The modern face

    @MainActor final class ChatModel {
        private(set) var messages: [String] = []
        private let connection: HubConnection

        init(_ connection: HubConnection) { self.connection = connection }

        func receive(_ count: Int) async throws {
            let incoming = connection.messages(of: "message", as: (String, String).self)
            try await connection.start()
            try await connection.invoke(method: "call_me", arguments: "message", "Ann", "Hello")
            try await connection.invoke(method: "call_me", arguments: "message", "Bob", "Hi")
            for await (user, text) in incoming {
                messages.append("\(user): \(text)")
                if messages.count == count { break }
            }
        }
    }

    @Test @MainActor func aModelOnTheMainActorReadsMessages() async throws {
        let server = try await SignalRTestServer.start()
        let model = ChatModel(HubConnectionBuilder().withUrl(url: server.url).build())
        try await model.receive(2)
        #expect(model.messages == ["Ann: Hello", "Bob: Hi"])
        await server.shutdown()
    }

    /// Tests an app with a test hub in memory, without a socket.
    @Test func anAppIsTestedWithoutAServer() async throws {
        let hub = try await SignalRTestServer.inMemory()
        let sent = hub.calls(of: "SendMessage", as: (String, String).self)
        let connection = hub.connect(HubConnectionBuilder()).build()
        let chat = Chat(connection: connection)
        var received = chat.messages.makeAsyncIterator()
        try await connection.start()

        try await chat.send("Hello", from: "Ann")
        var iterator = sent.makeAsyncIterator()
        let call = try #require(await iterator.next())
        #expect(call == ("Ann", "Hello"))

        hub.sendAll("ReceiveMessage", "Bob", "Hi")
        let message = try #require(await received.next())
        #expect(message == ("Bob", "Hi"))

        hub.dropConnections()
        for await status in connection.statuses { if case .stopped = status { break } }
        await #expect(throws: SignalRError.self) { try await chat.send("Hello?", from: "Ann") }
        await hub.shutdown()
    }

    @Test func typedCallsNeedNoAnnotations() async throws {
        let server = try await SignalRTestServer.start()
        server.on("Greet") { (call, name: String) in "Hello, \(name)!" }
        server.on("Log") { (call, line: String) in }
        let connection = HubConnectionBuilder().withUrl(url: server.url).build()
        try await connection.withConnection {
            #expect(try await connection.invoke("add", 40, 2, returning: Int.self) == 42)
            #expect(try await connection.invoke(.add, 40, 2) == 42)
            #expect(try await connection.invoke("greet", "Ann", returning: String.self) == "Hello, Ann!")
            #expect(try await connection.invoke(.greet, "Ann") == "Hello, Ann!")
            #expect(try await connection.invoke(.connectionID) == connection.connectionId)
            try await connection.invoke(method: "log", arguments: "line")
            var items: [Int] = []
            for try await item in try await connection.stream("counter", 10, of: Int.self) {
                items.append(item)
                if item == 2 { break }
            }
            #expect(items == [0, 1, 2])
            for try await item in try await connection.stream(.counter, 10) {
                items.append(item)
                if item == 1 { break }
            }
            #expect(items == [0, 1, 2, 0, 1])
            let token = await connection.on("x") { (_: Int) in }
            token.cancel()
            #expect(connection.transport == .webSockets && connection.connectionId?.isEmpty == false)
        }
        #expect(connection.transport == nil && connection.connectionId == nil)
        await server.shutdown()
    }
}

extension HubMethod where Arguments == (Int, Int), Result == Int {
    static var add: Self { Self("add") }
}

extension HubMethod where Arguments == String, Result == String {
    static var greet: Self { Self("Greet") }
}

extension HubMethod where Arguments == Void, Result == String {
    static var connectionID: Self { Self("connection_id") }
}

extension HubMethod where Arguments == Int, Result == Int {
    static var counter: Self { Self("counter") }
}

/// A typed hub, as in the documentation.
struct Chat: Sendable {
    let connection: HubConnection

    func send(_ text: String, from user: String) async throws {
        try await connection.invoke(method: "SendMessage", arguments: user, text)
    }

    var messages: AsyncStream<(String, String)> {
        connection.messages(of: "ReceiveMessage", as: (String, String).self)
    }
}
