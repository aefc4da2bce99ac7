import Foundation
import NIOConcurrencyHelpers
import SignalRClient
import TestSupport
import TestTraits
import Testing

private let baseURL = ProcessInfo.processInfo.environment["ASPNET_HUB_URL"]

/// Tests of the client with Microsoft's own server, ASP.NET Core 11. `.ci/aspnet-hub` starts the server and passes its
/// address.
@Suite("ASP.NET Core", .enabled(if: baseURL != nil, "ASPNET_HUB_URL is not set."), .limited)
struct AspNetHubTests {
    static let routes = Route.all.filter { !$0.isInMemory }

    func withHub(
        _ route: Route,
        _ hub: String = "hub",
        token: (@Sendable () -> String)? = nil,
        _ configure: (HubConnectionBuilder) -> HubConnectionBuilder = { $0 },
        _ body: (HubConnection) async throws -> Void
    ) async throws {
        var options = HttpConnectionOptions()
        options.transport = route.transport
        if let token { options.accessTokenFactory = { token() } }
        let builder = HubConnectionBuilder.patient.withUrl(url: "\(baseURL ?? "")/\(hub)", options: options)
            .withHubProtocol(hubProtocol: route.hubProtocol)
        let connection = configure(builder).build()
        do {
            try await connection.start()
            try await body(connection)
        } catch {
            await connection.stop()
            throw error
        }
        await connection.stop()
    }

    /// Makes a token of the hub, which contains the user and the time of the expiry.
    private static func token(_ user: String, seconds: Double) -> String {
        "\(user).\(Int((Date().timeIntervalSince1970 + seconds) * 1_000))"
    }

    // MARK: Tokens that expire

    @Test("a connection outlives 20 tokens, and no call is lost", arguments: routes)
    func refreshes(_ route: Route) async throws {
        let token: @Sendable () -> String = { Self.token("ann", seconds: 3) }
        try await withHub(route, "hub-refresh", token: token) { connection in
            let users = Inbox<String>()
            let failures = Inbox<any Error>()
            await connection.on("Refreshed") { (user: String) in users.add(user) }
            connection.onAuthenticationRefreshFailed { failures.add($0) }
            let id: String = try await connection.invoke(method: "ConnectionId")
            let calls = Task {
                var count = 0
                while !Task.isCancelled {
                    let text: String = try await connection.invoke(method: "Slow", arguments: 20)
                    #expect(text == "slept 20")
                    count += 1
                }
                return count
            }
            #expect(await users.next(20) == Array(repeating: "ann", count: 20))
            calls.cancel()
            // The last call can be the cancelled one.
            switch await calls.result {
            case .success(let count): #expect(count > 20)
            case .failure(let error): #expect(error is CancellationError, "\(error)")
            }
            let same: String = try await connection.invoke(method: "ConnectionId")
            #expect(same == id)
        }
    }

    @Test("another user's token is refused, and the connection stays")
    func otherUser() async throws {
        let isFirst = NIOLockedValueBox(true)
        let token: @Sendable () -> String = {
            let user = isFirst.withLockedValue { isFirst in
                defer { isFirst = false }
                return isFirst ? "ann" : "mallory"
            }
            return Self.token(user, seconds: 3_600)
        }
        try await withHub(Self.routes[0], "hub-refresh", token: token) { connection in
            let error = await #expect(throws: SignalRClientError.self) {
                try await connection.refreshAuthentication()
            }
            #expect(error?.code == .authenticationRefreshRefused && error?.httpStatus == 403)
            #expect(error?.message.contains("user_changed") == true)
            let user: String = try await connection.invoke(method: "Me")
            #expect(user == "ann")
        }
    }

    @Test("a hub without refreshes says so")
    func withoutRefreshes() async throws {
        try await withHub(Self.routes[0], token: { "any" }) { connection in
            let error = await #expect(throws: SignalRClientError.self) {
                try await connection.refreshAuthentication()
            }
            #expect(error?.httpStatus == 404)
        }
    }

    // MARK: Values

    @Test("dates keep their milliseconds, from the year 1 on", arguments: routes)
    func dates(_ route: Route) async throws {
        try await withHub(route) { connection in
            var generator = SeededGenerator(seed: 47)
            let day = 86_400_000
            var dates = [-62_135_596_800_000, -12_219_292_800_000, 777]
            for _ in 0..<100 { dates.append(Int.random(in: 0..<4_000_000_000_000, using: &generator)) }
            for milliseconds in dates {
                let date = Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
                let next: Date = try await connection.invoke(method: "Date", arguments: date)
                let answer = (next.timeIntervalSince1970 * 1_000).rounded()
                #expect(answer == Double(milliseconds + day), "\(milliseconds)")
            }
        }
    }

    // MARK: Methods

    @Test("calls of every method give what .NET gives", arguments: routes)
    func calls(_ route: Route) async throws {
        try await withHub(route) { connection in
            func call<Result: Decodable & Equatable & Sendable>(
                _ method: String,
                _ arguments: any Sendable...,
                gives expected: Result
            ) async throws {
                let result: Result =
                    switch arguments.count {
                    case 0: try await connection.invoke(method: method)
                    case 1: try await connection.invoke(method: method, arguments: arguments[0])
                    default: try await connection.invoke(method: method, arguments: arguments[0], arguments[1])
                    }
                #expect(result == expected, "\(method)")
            }
            try await call("Echo", "héllo 🌍", gives: "héllo 🌍")
            try await call("Add", -2, 3, gives: 1)
            try await call("Half", 0.5, gives: 0.25)
            try await call("Not", true, gives: false)
            try await call("Long", Int64.min, gives: Int64.min)
            try await call("Null", String?.none, gives: String?.none)
            try await call("Bytes", Data([1, 2, 3]), gives: Data([3, 2, 1]))
            let id = UUID(uuidString: "6F9619FF-8B86-D011-B42D-00C04FC964FF")
            try await call("Guid", id, gives: id)
            try await call("Scores", ["a": 1, "b": 2], gives: ["a": 2, "b": 3])
            try await call("Numbers", 5, gives: [0, 1, 2, 3, 4])
            try await call("Large", 1_000_000, gives: String(repeating: "x", count: 1_000_000))
            try await call("Length", String(repeating: "é", count: 100_000), gives: 100_000)
            try await call("Slow", 10, gives: "slept 10")
            try await connection.invoke(method: "Nothing")
            await #expect { try await connection.invoke(method: "HubThrow", arguments: "boom") } throws: {
                "\($0)".contains("boom")
            }
            await #expect { try await connection.invoke(method: "NoMethod") } throws: {
                "\($0)".contains("does not exist")
            }
            try await connection.invoke(method: "Nothing")
        }
    }

    @Test("streams arrive whole, and their errors too", arguments: routes)
    func streams(_ route: Route) async throws {
        try await withHub(route) { connection in
            let counter = try await connection.stream("Counter", 100, 0, of: Int.self)
            #expect(try await counter.reduce(into: []) { $0.append($1) } == Array(0..<100))
            let words = try await connection.stream("Words", "the quick fox", of: String.self)
            #expect(try await words.reduce(into: []) { $0.append($1) } == ["the", "quick", "fox"])
            var items: [Int] = []
            await #expect {
                for try await item in try await connection.stream("FailAfter", 3, of: Int.self) { items.append(item) }
            } throws: { "\($0)".contains("stream failed") }
            #expect(items == [0, 1, 2])
            // The stream ends on the server when the app leaves the loop. The next call shows that the connection works.
            for try await _ in try await connection.stream("Counter", 1_000_000, 1, of: Int.self) { break }
            let sum: Int = try await connection.invoke(method: "Add", arguments: 1, 1)
            #expect(sum == 2)
        }
    }

    @Test("the hub calls the client, waits for results, and sends to a group", arguments: routes)
    func callbacks(_ route: Route) async throws {
        try await withHub(route) { connection in
            await connection.on("Name") { (text: String) in "I am \(text)" }
            let answer: String = try await connection.invoke(method: "AskClient", arguments: "Name", "Ada")
            #expect(answer == "I am Ada")
            let texts = Inbox<String>()
            await connection.on("Group") { (group: String, text: String) in texts.add(group + text) }
            try await connection.invoke(method: "Join", arguments: "g")
            try await connection.invoke(method: "ToGroup", arguments: "g", "!")
            #expect(try await texts.next() == "g!")
            let numbers = Inbox<Int>()
            await connection.on("Item") { (number: Int) in numbers.add(number) }
            try await connection.send(method: "Burst", arguments: 1_000)
            #expect(await numbers.next(1_000) == Array(0..<1_000))
        }
    }

    // MARK: Uploads and losses

    @Test("a long upload arrives whole, and two short ones at once", arguments: routes)
    func uploads(_ route: Route) async throws {
        try await withHub(route) { connection in
            func numbers(_ count: Int) -> AsyncStream<Int> {
                AsyncStream { continuation in
                    for number in 1...count { continuation.yield(number) }
                    continuation.finish()
                }
            }
            let long: Int = try await connection.invoke(method: "Sum", arguments: numbers(5_000))
            #expect(long == 12_502_500)
            // The method reads one stream after the other, and the server reads nothing more while ten items of a stream
            // wait for its method.
            for _ in 0..<20 {
                let sum: Int = try await connection.invoke(method: "SumTwo", arguments: numbers(9), numbers(9))
                #expect(sum == 90)
            }
        }
    }

    @Test(
        "a connection outlives losses in quick succession",
        arguments: routes.filter { $0.transport == .webSockets }
    )
    func losses(_ route: Route) async throws {
        try await withHub(route, "hub", { $0.withStatefulReconnect() }) { connection in
            let id: String = try await connection.invoke(method: "ConnectionId")
            // Three times as much as the server keeps without an acknowledgement.
            for _ in 0..<30 {
                try await connection.send(method: "Drop")
                let text: String = try await connection.invoke(method: "Large", arguments: 10_000)
                #expect(text.utf8.count == 10_000)
            }
            let same: String = try await connection.invoke(method: "ConnectionId")
            #expect(same == id)
        }
    }

    @Test("a stateful connection carries more than 100 kB/s", arguments: routes.filter { $0.transport == .webSockets })
    func throughput(_ route: Route) async throws {
        try await withHub(route, "hub", { $0.withStatefulReconnect() }) { connection in
            let inbox = Inbox<Int>()
            await connection.on("Item") { (number: Int) in inbox.add(number) }
            // With one acknowledgement in each second, 100,000 messages would take more than 40 s.
            let clock = ContinuousClock()
            let time = try await clock.measure {
                try await connection.send(method: "Burst", arguments: 100_000)
                let numbers = await inbox.next(100_000)
                #expect(numbers == Array(0..<100_000))
            }
            #expect(time < .seconds(40), "\(time)")
        }
    }
}
