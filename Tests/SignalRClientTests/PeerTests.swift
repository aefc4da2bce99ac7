import SignalRClient
import SignalRTestServer
import TestSupport
import TestTraits
import Testing

private let peerURL = ProcessInfo.processInfo.environment["SIGNALR_PEER_URL"]
/// The paths of a Python interpreter that has aiosignalr, and of the script.
private let peerClient = ProcessInfo.processInfo.environment["SIGNALR_PEER_CLIENT"]?.split(separator: " ").map(
    String.init
)

/// Tests of the client with a server from outside this project. `.ci/signalr-peer` starts the server and passes its
/// address.
@Suite(.enabled(if: peerURL != nil, "SIGNALR_PEER_URL is not set."), .serialized, .limited)
struct PeerTests {
    static let routes = Route.all.filter { !$0.isInMemory }

    func withPeer(
        _ route: Route,
        _ configure: (HubConnectionBuilder) -> HubConnectionBuilder = { $0 },
        _ body: (HubConnection) async throws -> Void
    ) async throws {
        let builder = HubConnectionBuilder.patient.withUrl(url: peerURL ?? "", transport: route.transport)
            .withHubProtocol(hubProtocol: route.hubProtocol)
        try await configure(builder).build().withConnectionPassed(to: body)
    }

    @Test(arguments: routes) func callsAndStreams(_ route: Route) async throws {
        try await withPeer(route) { connection in
            let sum: Int = try await connection.invoke(method: "add", arguments: 40, 2)
            #expect(sum == 42)
            let text: String = try await connection.invoke(method: "echo", arguments: "ü😀\u{1E}")
            #expect(text == "ü😀\u{1E}")
            let null: String? = try await connection.invoke(method: "null")
            #expect(null == nil)
            try await connection.invoke(method: "nothing")
            let error = await #expect(throws: SignalRError.self) {
                try await connection.invoke(method: "fail", arguments: "bad")
            }
            #expect("\(String(describing: error))".contains("bad"))
            var items: [Int] = []
            for try await item in try await connection.stream("counter", 5, 0.0, of: Int.self) { items.append(item) }
            #expect(items == [0, 1, 2, 3, 4])
            var received: [Int] = []
            await #expect(throws: SignalRError.self) {
                for try await item in try await connection.stream("counter_fail", 3, of: Int.self) {
                    received.append(item)
                }
            }
            #expect(received == [0, 1, 2])
            for try await item in try await connection.stream("counter", 1_000_000, 0.01, of: Int.self) where item == 2
            {
                break
            }
            let upload = AsyncStream<Int> { continuation in
                for number in 1...3 { continuation.yield(number) }
                continuation.finish()
            }
            let total: Int = try await connection.invoke(method: "add_stream", arguments: upload)
            #expect(total == 6)
        }
    }

    @Test(arguments: routes) func theServerCallsTheClient(_ route: Route) async throws {
        try await withPeer(route) { connection in
            let inbox = Inbox<String>()
            await connection.on("receive") { (user: String, count: Int) in inbox.add("\(user) \(count)") }
            await connection.on("double") { (number: Int) in number * 2 }
            await connection.on("refuse") { (_: Int) throws -> Int in throw HubError("no") }
            try await connection.invoke(
                method: "call_me",
                arguments: "receive",
                [AnyArgument.text("Ann"), AnyArgument.number(3)]
            )
            #expect(try await inbox.next() == "Ann 3")
            let double: Int = try await connection.invoke(method: "ask_me", arguments: "double", 21)
            #expect(double == 42)
            await #expect(throws: SignalRError.self) {
                try await connection.invoke(method: "ask_me", arguments: "refuse", 21)
            }
        }
    }

    enum AnyArgument: Encodable, Sendable {
        case text(String)
        case number(Int)

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .number(let number): try container.encode(number)
            }
        }
    }

    @Test(arguments: routes) func theServerCloses(_ route: Route) async throws {
        for allowReconnect in [false, true] {
            try await withPeer(route, { $0.withAutomaticReconnect([0, 0.1, 0.5]) }) { connection in
                let inbox = Inbox<String>()
                connection.onClosed { inbox.add("closed \($0 != nil)") }
                connection.onReconnected { inbox.add("reconnected") }
                try? await connection.send(method: "close_me", arguments: "enough", allowReconnect)
                let line = try await inbox.next()
                #expect(line == (allowReconnect ? "reconnected" : "closed true"))
            }
        }
    }

    @Test(arguments: routes.filter { $0.transport == .webSockets })
    func aDroppedConnectionIsResumed(_ route: Route) async throws {
        try await withPeer(route, { $0.withStatefulReconnect() }) { connection in
            let id: String = try await connection.invoke(method: "connection_id")
            let task = Task {
                let text: String = try await connection.invoke(method: "slow", arguments: 0.5)
                return text
            }
            try await connection.send(method: "drop_me")
            #expect(try await task.value == "done")
            let same: String = try await connection.invoke(method: "connection_id")
            #expect(same == id)
        }
    }
}

/// Tests of the test hub with a client from outside this project. `.ci/signalr-peer` passes the path of the client.
@Suite(.enabled(if: peerClient != nil, "SIGNALR_PEER_CLIENT is not set."), .limited)
struct PeerClientTests {
    @Test func anotherClientUsesTheTestHub() async throws {
        let client = try #require(peerClient)
        var options = TestHubOptions()
        // aiosignalr 0.1.1 sends the handshake before its first poll, which ASP.NET Core refuses too.
        options.tolerated = [.noPostBeforeTransport]
        try await withServer(options) { server in
            let arguments = Array(client.dropFirst()) + [server.url]
            let process = try ChildProcess(client[0], arguments, showsErrors: true)
            var output: [String] = []
            for await line in process.lines { output.append(line) }
            #expect(await process.end() == 0, "\(output.joined(separator: "\n"))")
            #expect(output.count { $0.hasSuffix("agreed") } == 5)
        }
    }
}

extension HubConnection {
    fileprivate nonisolated func withConnectionPassed(to body: (HubConnection) async throws -> Void) async throws {
        try await withConnection { try await body(self) }
    }
}
