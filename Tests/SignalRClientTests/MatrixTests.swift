import SignalRClient
import SignalRTestServer
import TestTraits
import Testing

/// Tests of the features of a connection, with every supported combination of transport and protocol.
@Suite(.limited) struct MatrixTests {
    struct Person: Codable, Equatable, Sendable {
        var name: String
        var age: Int?
        var born: Date
        var photo: Data
        var friends: [String: [Int]]
    }

    @Test(arguments: Route.all) func invokesReturnTheirResults(_ route: Route) async throws {
        try await withConnection(route) { connection, _ in
            func echo<T: Codable & Equatable & Sendable>(_ value: T) async throws {
                let answer: T = try await connection.invoke(method: "echo", arguments: value)
                #expect(answer == value)
            }
            let sum: Int = try await connection.invoke(method: "add", arguments: 40, 2)
            #expect(sum == 42)
            try await echo("text with \u{1E}, \", \\, ü, 😀 and \n")
            try await echo(Int64.max)
            try await echo(UInt64.max)
            try await echo(-1.5)
            try await echo(true)
            try await echo([1, 2, 3])
            try await echo(["a": 1.5])
            try await echo(String?.none)
            try await echo([Int?.some(1), nil])
            try await echo(
                Person(
                    name: "Ann",
                    age: nil,
                    born: Date(timeIntervalSince1970: 1_000_000.125),
                    photo: Data([0, 1, 255]),
                    friends: ["b": [1], "c": []]
                )
            )
            try await connection.invoke(method: "nothing")
            try await connection.invoke(method: "echo", arguments: "ignored")
            let null: String? = try await connection.invoke(method: "null")
            #expect(null == nil)
            let nothing: Int? = try await connection.invoke(method: "nothing")
            #expect(nothing == nil)
        }
    }

    @Test(arguments: Route.all.prefix(3)) func argumentsMayBeLarge(_ route: Route) async throws {
        var options = TestHubOptions()
        options.maximumMessageSize = 3_000_000
        try await withServer(options, inMemory: route.isInMemory) { server in
            let connection = route.builder(server).build()
            try await connection.start()
            let text = String(repeating: "x", count: 2_000_000)
            let answer: String = try await connection.invoke(method: "echo", arguments: text)
            #expect(answer.utf8.count == text.utf8.count)
            await connection.stop()
        }
    }

    @Test(arguments: Route.all) func errorsAreThoseOfTheCall(_ route: Route) async throws {
        try await withConnection(route) { connection, _ in
            let error = await #expect(throws: SignalRError.self) {
                try await connection.invoke(method: "fail", arguments: "too bad")
            }
            guard case .invocationError(let text) = error else { throw try #require(error) }
            #expect(text.contains("too bad"))
            await #expect(throws: SignalRError.self) { try await connection.invoke(method: "no such method") }
            await #expect(throws: SignalRError.self) { try await connection.invoke(method: "counter", arguments: 1) }
            await #expect(throws: SignalRError.self) { try await connection.invoke(method: "add", arguments: "a") }
            let wrong = await #expect(throws: SignalRClientError.self) {
                let _: Int = try await connection.invoke(method: "echo", arguments: "text")
            }
            #expect(wrong?.code == .decodingFailed)
            let void = await #expect(throws: SignalRClientError.self) {
                let _: Int = try await connection.invoke(method: "nothing")
            }
            #expect(void?.code == .decodingFailed)
            let sum: Int = try await connection.invoke(method: "add", arguments: 1, 2)
            #expect(sum == 3)
        }
    }

    @Test(arguments: Route.all) func streamsDeliverTheirItems(_ route: Route) async throws {
        try await withConnection(route) { connection, server in
            let result: any StreamResult<Int> = try await connection.stream(method: "counter", arguments: 5)
            var items: [Int] = []
            for try await item in result.stream { items.append(item) }
            #expect(items == [0, 1, 2, 3, 4])

            var received: [Int] = []
            await #expect(throws: SignalRError.self) {
                for try await item in try await connection.stream("counter_fail", 3, of: Int.self) {
                    received.append(item)
                }
            }
            #expect(received == [0, 1, 2])

            await #expect(throws: SignalRError.self) {
                for try await _ in try await connection.stream("add", 1, 2, of: Int.self) {}
            }
            let wrong = await #expect(throws: SignalRClientError.self) {
                for try await _ in try await connection.stream("counter", 1000, 0.01, of: String.self) {}
            }
            #expect(wrong?.code == .decodingFailed)
            await server.waitForMessage { if case .cancelInvocation = $0 { true } else { false } }
        }
    }

    @Test(arguments: Route.all) func uploadsSendTheirItems(_ route: Route) async throws {
        try await withConnection(route) { connection, _ in
            func numbers() -> AsyncStream<Int> {
                AsyncStream { continuation in
                    for number in 1...3 { continuation.yield(number) }
                    continuation.finish()
                }
            }
            let sum: Int = try await connection.invoke(method: "add_stream", arguments: numbers())
            #expect(sum == 6)
            var items: [Int] = []
            let echo: any StreamResult<Int> = try await connection.stream(method: "echo_stream", arguments: numbers())
            for try await item in echo.stream { items.append(item) }
            #expect(items == [1, 2, 3])
        }
    }

    @Test(arguments: Route.all) func handlersGetTheCallsOfTheServer(_ route: Route) async throws {
        try await withConnection(route) { connection, _ in
            let inbox = Inbox<String>()
            await connection.on("receive") { (user: String, count: Int, note: String?) in
                inbox.add("\(user) \(count) \(note ?? "-")")
            }
            try await connection.send(method: "call_me", arguments: "RECEIVE", "Ann", 3, String?.none)
            try await connection.invoke(method: "call_me", arguments: "receive", "Bob", 4, "x")
            #expect(await inbox.next(2) == ["Ann 3 -", "Bob 4 x"])
        }
    }

    @Test(arguments: Route.all) func handlersAnswerTheServer(_ route: Route) async throws {
        try await withConnection(route) { connection, _ in
            await connection.on("double") { (number: Int) in number * 2 }
            await connection.on("nil") { () -> Int? in nil }
            await connection.on("throw") { () throws -> Int in throw HubError("no number") }
            await connection.on("secret") { () throws -> Int in throw SignalRError.invalidData("secret") }
            await connection.on("void") {}
            let double: Int = try await connection.invoke(method: "ask_me", arguments: "double", 21)
            #expect(double == 42)
            let null: Int? = try await connection.invoke(method: "ask_me", arguments: "nil")
            #expect(null == nil)
            let nothing: Int? = try await connection.invoke(method: "ask_me", arguments: "void")
            #expect(nothing == nil)
            let misfit = askMeError("The arguments do not fit the client's handler.")
            for (method, text) in [
                ("throw", "no number"), ("secret", "The client's handler failed."),
                ("unknown", "Client didn't provide a result."),
            ] {
                await #expect(throws: SignalRError.invocationError(askMeError(text))) {
                    try await connection.invoke(method: "ask_me", arguments: method)
                }
            }
            await #expect(throws: SignalRError.invocationError(misfit)) {
                try await connection.invoke(method: "ask_me", arguments: "double", "text")
            }
            await #expect(throws: SignalRError.invocationError(misfit)) {
                try await connection.invoke(method: "ask_me", arguments: "double", 1, 2)
            }
            await connection.on("double") { (number: Int) in number }
            await #expect(throws: SignalRError.invocationError(askMeError("Client provided multiple results."))) {
                try await connection.invoke(method: "ask_me", arguments: "double", 1)
            }
        }
    }

    @Test(arguments: Route.all) func manySmallCallsStayInOrder(_ route: Route) async throws {
        try await withConnection(route) { connection, _ in
            // With the other transports, each call needs a request, so the test makes fewer calls.
            let count = route.transport != .webSockets ? 300 : route.hubProtocol == .json ? 3_000 : 1_000
            let inbox = Inbox<[Int]>()
            let collector = Collector(count) { inbox.add($0) }
            await connection.on("number") { (number: Int) in await collector.add(number) }
            for number in 0..<count { try await connection.send(method: "call_me", arguments: "number", number) }
            #expect(try await inbox.next() == Array(0..<count))
        }
    }

    actor Collector {
        private var numbers: [Int] = []
        private let count: Int
        private let done: @Sendable ([Int]) -> Void

        init(_ count: Int, done: @escaping @Sendable ([Int]) -> Void) {
            self.count = count
            self.done = done
        }

        func add(_ number: Int) {
            numbers.append(number)
            if numbers.count == count { done(numbers) }
        }
    }

    @Test(arguments: Route.all) func tenConnectionsShareAServer(_ route: Route) async throws {
        try await withServer(inMemory: route.isInMemory) { server in
            let connections = (0..<10).map { _ in route.builder(server).build() }
            let inbox = Inbox<String>()
            for connection in connections {
                await connection.on("news") { (text: String) in inbox.add(text) }
                try await connection.start()
            }
            try await connections[0].invoke(method: "broadcast", arguments: "news", "hello")
            #expect(await inbox.next(10) == Array(repeating: "hello", count: 10))
            #expect(Set(connections.map(\.connectionId)).count == 10)
            for connection in connections { await connection.stop() }
            await server.waitForDisconnections(count: 10)
        }
    }
}
