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

    private func withHub(
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
        try await connection.start()
        try await body(connection)
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
