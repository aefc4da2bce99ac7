import SignalRClient
package import SignalRTestServer

/// A hub with the methods of a real ASP.NET Core server, for clients of other makers. It shows most features of
/// SignalRTestServer: streams in both directions, groups, users, client results, tokens, several hubs and endpoints.
package struct TestHub: Sendable {
    package let server: SignalRTestServer

    /// Starts the server.
    ///
    /// - Parameter port: The port; 0, the default, for any free port.
    package static func start(port: Int = 0) async throws -> TestHub {
        var options = TestHubOptions()
        options.port = port
        options.maximumMessageSize = 32 << 20
        options.maximumParallelCalls = 8
        options.messagePackKeys = .pascalCase
        let server = try await SignalRTestServer.start(options: options)
        addMethods(to: server)
        for (path, transport) in [
            ("/hub-ws", HttpTransportType.webSockets), ("/hub-sse", .serverSentEvents), ("/hub-lp", .longPolling),
        ] {
            var limited = options
            limited.transports = [transport]
            addMethods(to: try await server.addHub(at: path, options: limited))
        }
        var guarded = options
        guarded.authorize = { request in
            switch request.token {
            case "let-me-in": .allow()
            case "forbidden": .refuse(status: 403)
            default: .refuse(status: 401)
            }
        }
        addMethods(to: try await server.addHub(at: "/hub-auth", options: guarded))
        var expiring = options
        expiring.authorize = authorize
        let refreshing = try await server.addHub(at: "/hub-refresh", options: expiring)
        addMethods(to: refreshing)
        refreshing.onRefreshed { connection in try? connection.send("Refreshed", connection.userID) }
        addEndpoints(to: server)
        return TestHub(server: server)
    }

    // MARK: Tokens

    /// Reads a token with the user and the time of the expiry, `ada.1700000000000`. A refresh by mallory is refused,
    /// because she is another user.
    private static func authorize(_ request: TestHubRequest) -> TestHubAuthorization {
        let parts = request.token?.split(separator: ".").map(String.init) ?? []
        guard parts.count == 2, let milliseconds = Int64(parts[1]) else { return .refuse(status: 401) }
        let lifetime = Double(milliseconds) / 1_000 - Date().timeIntervalSince1970
        return lifetime > 0 ? .allow(userID: parts[0], lifetime: .seconds(lifetime)) : .refuse(status: 401)
    }

    // MARK: Endpoints

    private static func addEndpoints(to server: SignalRTestServer) {
        let base = "http://127.0.0.1:\(server.port)"
        server.respond(at: "/redirect/negotiate") { _ in
            TestHubResponse(text: #"{"url":"\#(base)/hub-auth","accessToken":"let-me-in"}"#)
        }
        server.respond(at: "/loop/negotiate") { _ in TestHubResponse(text: #"{"url":"\#(base)/loop"}"#) }
        server.respond(at: "/refuse/negotiate") { _ in TestHubResponse(text: #"{"error":"Not today."}"#) }
        server.respond(at: "/token") { request in
            let seconds = request.query["seconds"].flatMap { Double($0) } ?? 0
            let expiry = Int((Date().timeIntervalSince1970 + seconds) * 1_000)
            return TestHubResponse(text: "\(request.query["user"] ?? "").\(expiry)")
        }
    }

    // MARK: Methods

    private static func addMethods(to server: SignalRTestServer) {
        addValues(to: server)
        addCalls(to: server)
        addClients(to: server)
        addStreams(to: server)
    }

    private static func addValues(to server: SignalRTestServer) {
        server.on("Me") { call in call.connection.userID }
        server.on("Echo") { (_, text: String) in text }
        server.on("Add") { (_, a: Int, b: Int) in a + b }
        server.on("Half") { (_, number: Double) in number / 2 }
        server.on("Not") { (_, isTrue: Bool) in !isTrue }
        server.on("Long") { (_, number: Int64) in number }
        server.on("Null") { (_, _: String?) in String?.none }
        server.on("Bytes") { (_, bytes: Data) in Data(bytes.reversed()) }
        server.on("Date") { (_, date: Date) in date.addingTimeInterval(86_400) }
        server.on("Guid") { (_, id: UUID) in id }
        server.on("Birthday") { (_, person: Person) in person.aged(by: 1) }
        server.on("People") { (_, people: [Person?]) in people }
        server.on("Scores") { (_, scores: [String: Int]) in scores.mapValues { $0 + 1 } }
        server.on("Numbers") { (_, count: Int) in Array(0..<count) }
        server.on("Large") { (_, size: Int) in String(repeating: "x", count: size) }
        server.on("Length") { (_, text: String) in text.utf16.count }
        server.on("ConnectionId") { call in call.connection.id }
        server.on("Optional") { (_, a: String, b: String) in a + b }
    }

    private static func addCalls(to server: SignalRTestServer) {
        server.on("Nothing") { _ in }
        server.on("Slow") { (_, milliseconds: Int) in
            try await Task.sleep(for: .milliseconds(milliseconds))
            return "slept \(milliseconds)"
        }
        server.on("Throw") { (_, message: String) throws -> String in throw UnexpectedError(message: message) }
        server.on("HubThrow") { (_, message: String) throws -> String in throw HubError(message) }
        server.on("Abort") { call in call.close() }
        server.on("Drop") { call in call.drop() }
    }

    private static func addClients(to server: SignalRTestServer) {
        server.on("Join") { (call, group: String) in call.connection.join(group) }
        server.on("Leave") { (call, group: String) in call.connection.leave(group) }
        server.on("ToGroup") { [unowned server] (_, group: String, text: String) in
            server.send(to: .group(group), "Group", group, text)
        }
        server.on("Others") { [unowned server] (call, text: String) in
            server.send(to: .all(except: [call.connection.id]), "Others", text)
        }
        server.on("SendMessage") { [unowned server] (_, user: String, message: String) in
            server.sendAll("ReceiveMessage", user, message)
        }
        server.on("Burst") { (call, count: Int) in
            for number in 0..<count { try call.send("Item", number) }
        }
        server.on("Many") { (call, method: String, count: Int) in
            for number in 0..<count {
                try call.send(method, number, "text \(number)", Person(number, balance: 1.5, tags: ["a"], .merry))
            }
        }
        server.on("AskClient") { (call, method: String, text: String) in
            try await call.invoke(method, text, returning: String.self)
        }
        server.on("TriggerClientResult") { call in
            try call.send("Got", try await call.invoke("ClientResult", "hello", returning: String.self))
        }
        server.on("AskWithTimeout") { (call, method: String, milliseconds: Int) in
            do {
                return try await call.invoke(
                    method,
                    "?",
                    returning: String.self,
                    timeout: .milliseconds(milliseconds)
                )
            } catch let error as HubError {
                return "HubException: \(error.message)"
            }
        }
    }

    private static func addStreams(to server: SignalRTestServer) {
        server.on("Counter") { (_, count: Int, milliseconds: Int) in
            stream { add in
                for number in 0..<count {
                    add(number)
                    if milliseconds > 0 { try await Task.sleep(for: .milliseconds(milliseconds)) }
                }
            }
        }
        server.on("Words") { (_, text: String) in
            stream { add in for word in text.split(separator: " ") { add(String(word)) } }
        }
        server.on("FailAfter") { (_, count: Int) in
            stream { add in
                for number in 0..<count { add(number) }
                throw HubError("stream failed")
            }
        }
        server.on("PeopleStream") { (_, count: Int) in
            stream { add in
                for number in 0..<count { add(Person(number, balance: 0.1, photo: Data([1, 2]), .calm)) }
            }
        }
        server.on("Sum", uploads: 1) { call in
            var sum = 0
            for try await number in call.upload(0, of: Int.self) { sum += number }
            return sum
        }
        server.on("SumTwo", uploads: 2) { call in
            var sum = 0
            for try await number in call.upload(0, of: Int.self) { sum += number }
            for try await number in call.upload(1, of: Int.self) { sum += number }
            return sum
        }
        server.on("Concat", uploads: 1) { call in
            var text = ""
            for try await part in call.upload(0, of: String.self) { text += part }
            return text
        }
        server.on("Upload", uploads: 1) { call in
            var count = 0
            for try await _ in call.upload(0, of: String.self) { count += 1 }
            try call.send("Uploaded", count)
        }
        server.on("Double", uploads: 1) { call in
            call.upload(0, of: Int.self).map { $0 * 2 }
        }
    }

    /// Makes a sequence of the items that a closure adds. The closure is cancelled with the sequence.
    private static func stream<Item: Sendable>(
        _ body: @escaping @Sendable (_ add: @Sendable (Item) -> Void) async throws -> Void
    ) -> AsyncThrowingStream<Item, any Error> {
        AsyncThrowingStream { continuation in
            let task = Task {
                do {
                    try await body { continuation.yield($0) }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}

/// An error whose description clients do not get.
struct UnexpectedError: Error {
    var message: String
}

/// A value with the types that .NET has. In MessagePack, the keys begin with upper case; see
/// `TestHubOptions.messagePackKeys`.
final class Person: Codable, Sendable {
    let name: String
    let age: Int
    let born: Date
    let balance: Decimal
    let tags: [String]
    let friend: Person?
    let scores: [String: Int]?
    let photo: Data?
    let mood: Mood
    let id: UUID

    init(_ number: Int, balance: Decimal, tags: [String] = [], photo: Data? = nil, _ mood: Mood) {
        (name, age, self.balance, self.tags, self.photo, self.mood) = ("P\(number)", number, balance, tags, photo, mood)
        (born, friend, scores) = (Date(timeIntervalSince1970: 0), nil, nil)
        id = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
    }

    private init(_ other: Person, age: Int) {
        (name, born, balance, tags) = (other.name, other.born, other.balance, other.tags)
        (friend, scores, photo, mood, id) = (other.friend, other.scores, other.photo, other.mood, other.id)
        self.age = age
    }

    func aged(by years: Int) -> Person { Person(self, age: age + years) }
}

/// An enumeration, which .NET writes as a number in JSON and as its name in MessagePack.
enum Mood: Int, Codable, CaseIterable {
    case calm, merry, cross

    private static func named(_ name: String) -> Mood? { allCases.first { $0.name == name } }

    private var name: String { "\(self)".prefix(1).uppercased() + "\(self)".dropFirst() }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let mood =
            decoder.isMsgpackDecoder()
            ? try Self.named(container.decode(String.self))
            : Mood(rawValue: try container.decode(Int.self))
        guard let mood else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "The mood is unknown.")
        }
        self = mood
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if encoder.isMsgpackEncoder() { try container.encode(name) } else { try container.encode(rawValue) }
    }
}
