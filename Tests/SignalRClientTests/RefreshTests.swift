import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import SignalRCore
import SignalRTestServer
import TestSupport
import TestTraits
import Testing

@testable import SignalRClient

/// Tests of tokens that expire, over each transport.
@Suite("Refreshed tokens", .limited) struct RefreshTests {
    private static let routes = Route.all.filter { !$0.isInMemory }

    /// Runs a hub whose tokens expire after an hour, and a connection with the tokens "token 1", "token 2" and so on.
    private func withExpiringTokens(
        _ route: Route,
        lifetime: Duration? = .seconds(3_600),
        redirects: Int = 0,
        _ configure: (HubConnectionBuilder) -> HubConnectionBuilder = { $0 },
        _ body: (HubConnection, SignalRTestServer) async throws -> Void
    ) async throws {
        var hub = TestHubOptions()
        hub.tokenLifetime = lifetime
        try await withServer(hub) { server in
            await server.redirect(times: redirects)
            var options = HttpConnectionOptions()
            options.transport = route.transport
            let count = NIOLockedValueBox(0)
            options.accessTokenFactory = {
                count.withLockedValue { count in
                    count += 1
                    return "token \(count)"
                }
            }
            let builder = HubConnectionBuilder.patient.withUrl(url: server.url + "?a=1", options: options)
                .withHubProtocol(hubProtocol: route.hubProtocol)
            let connection = configure(builder).build()
            try await connection.start()
            try await body(connection, server)
            await connection.stop()
        }
    }

    private func error(_ connection: HubConnection) async -> (any Error)? {
        do {
            try await connection.refreshAuthentication()
            return nil
        } catch {
            return error
        }
    }

    @Test("a refresh keeps the connection and its calls, and later requests have the new token", arguments: routes)
    func refresh(_ route: Route) async throws {
        try await withExpiringTokens(route) { connection, server in
            let lifetimes = Inbox<Duration?>()
            connection.onAuthenticationRefreshed { lifetimes.add($0) }
            server.on("token") { (call: TestHubCall) in call.headers["authorization"] ?? "" }
            let (gate, open) = AsyncStream.makeStream(of: Void.self)
            server.on("wait") { (_: TestHubCall) -> String in
                for await _ in gate { break }
                return "done"
            }
            let id = connection.connectionId
            let waiting = Task { try await connection.invoke("wait", returning: String.self) }
            await server.waitForMessage { if case .invocation = $0 { true } else { false } }
            #expect(try await connection.refreshAuthentication() == .seconds(3_600))
            #expect(try await lifetimes.next() == .seconds(3_600))
            open.yield()
            #expect(try await waiting.value == "done")
            #expect(try await connection.invoke("token", returning: String.self) == "Bearer token 2")
            #expect(connection.connectionId == id && server.connectionCount == 1)

            let index = try #require(server.requests.firstIndex { $0.target.contains("/refresh") })
            let request = server.requests[index]
            #expect(request.method == "POST" && request.target == "/hub/refresh?a=1" && request.bodySize == 0)
            #expect(request.headers["authorization"] == "Bearer token 2")
            #expect(request.headers["x-signalr-connection-token"] == "token/1+")
            #expect(server.requests[..<index].allSatisfy { $0.headers["authorization"] == "Bearer token 1" })
            // The call of the method "token" is in one of these requests.
            #expect(server.requests.last { $0.method == "POST" }?.headers["authorization"] == "Bearer token 2")
        }
    }

    @Test(
        "a refusal is an error with its status, and the connection stays",
        arguments: [(401, ""), (403, #"{"error":"user_changed"}"#), (404, #"{"error":"connection_not_found"}"#)]
    )
    func refusal(status: Int, body: String) async throws {
        try await withExpiringTokens(Self.routes[0]) { connection, server in
            let failures = Inbox<any Error>()
            connection.onAuthenticationRefreshFailed { failures.add($0) }
            await server.fail(.refresh, .answer(status, body))
            let error = await error(connection) as? SignalRClientError
            #expect(error?.code == .authenticationRefreshRefused && error?.httpStatus == status)
            #expect(code(try await failures.next()) == .authenticationRefreshRefused)
            try await connection.invoke(method: "nothing")
            #expect(try await connection.refreshAuthentication() == .seconds(3_600))
        }
    }

    @Test("a hub that refreshes no tokens says so")
    func unsupported() async throws {
        try await withExpiringTokens(Self.routes[0], lifetime: nil) { connection, _ in
            let error = await error(connection) as? SignalRClientError
            #expect(error?.httpStatus == 404 && error?.message.contains("EnableAuthenticationRefresh") == true)
        }
    }

    @Test("after a redirect, the app's token does not go to the other server")
    func redirect() async throws {
        try await withExpiringTokens(Self.routes[0], redirects: 1) { connection, server in
            guard case .invalidOperation = await error(connection) as? SignalRError else {
                return #expect(Bool(false), "A refresh would send the app's token.")
            }
            #expect(!server.requests.contains { $0.target.contains("/refresh") })
        }
    }

    @Test("a resumed connection is refreshed like before")
    func resumption() async throws {
        try await withExpiringTokens(Self.routes[0], { $0.withStatefulReconnect() }) { connection, server in
            let id = connection.connectionId
            for count in 2...4 {
                server.dropConnections()
                try await connection.invoke(method: "nothing")
                #expect(try await connection.refreshAuthentication() == .seconds(3_600))
                #expect(
                    server.requests.last { $0.target.contains("/refresh") }?.headers["authorization"]
                        == "Bearer token \(count)"
                )
            }
            #expect(connection.connectionId == id && server.connectionCount == 1)
        }
    }

    @Test("at the expiry, the server ends the connection without an error", arguments: routes)
    func expiry(_ route: Route) async throws {
        try await withExpiringTokens(route) { connection, server in
            let ends = Inbox<(any Error)?>()
            connection.onClosed { ends.add($0) }
            // The first ping is on its way until a call has passed it. Afterwards, the server would not know the connection.
            try await connection.invoke(method: "nothing")
            server.expireTokens()
            let error = try await ends.next()
            #expect(error == nil)
        }
        try await withExpiringTokens(route, { $0.withAutomaticReconnect([0]) }) { connection, server in
            try await connection.invoke(method: "nothing")
            server.expireTokens()
            await server.waitForConnections(count: 2)
            try await connection.connected()
            #expect(
                server.requests.last { $0.target.contains("/negotiate") }?.headers["authorization"] == "Bearer token 2"
            )
        }
    }

    @Test("a refresh in memory renews the lifetime")
    func inMemory() async throws {
        var options = TestHubOptions()
        options.tokenLifetime = .seconds(3_600)
        try await withServer(options, inMemory: true) { server in
            let connection = server.connect(HubConnectionBuilder()).build()
            try await connection.start()
            #expect(try await connection.refreshAuthentication() == .seconds(3_600))
            server.expireTokens()
            await server.waitForDisconnections()
            await connection.stop()
        }
    }

    // MARK: Virtual time

    /// Opens transports whose tokens live for 10 s.
    private struct ExpiringOpener: HubTransportOpener {
        let bare = BareOpener()
        let refreshes = NIOLockedValueBox(0)
        var results: [Result<Duration?, SignalRClientError>]

        func open(
            wantsResumption: Bool,
            on eventLoop: any EventLoop,
            receive: @escaping OpenedTransport.Receiver
        ) async throws -> OpenedTransport {
            var opened = try await bare.open(wantsResumption: false, on: eventLoop, receive: receive)
            // With long polling, a silent server is not lost.
            opened.info = TransportInfo(connectionID: "c", transport: .longPolling)
            (opened.info.canBeRefreshed, opened.info.tokenLifetime) = (true, .seconds(10))
            opened.refresh = { [refreshes, results] in
                let count = refreshes.withLockedValue { count in
                    count += 1
                    return count
                }
                return try results[(count - 1) % results.count].get()
            }
            return opened
        }
    }

    private func run(
        _ results: [Result<Duration?, SignalRClientError>],
        _ body: (NIOAsyncTestingEventLoop, HubConnection, _ refreshes: @escaping @Sendable () -> Int) async throws ->
            Void
    ) async throws {
        let (loop, opener) = (NIOAsyncTestingEventLoop(), ExpiringOpener(results: results))
        let options = HubEngine.Options(
            machine: HubStateMachine.Configuration(.json),
            coder: HubCoder(),
            retryPolicy: nil,
            wantsResumption: false,
            invocationTimeout: nil,
            receiveBufferSize: 1 << 20,
            logger: HubLogger(level: .error),
            logsContent: false
        )
        let connection = HubConnection(
            HubEngine(options, opener: opener, on: loop) { .nanoseconds(Int64(loop.now.uptimeNanoseconds)) }
        )
        let start = Task { try await connection.start() }
        try await advance(loop) { if case .connected = connection.status { true } else { false } }
        try await start.value
        try await body(loop, connection) { opener.refreshes.withLockedValue { $0 } }
    }

    /// Runs the loop until the condition is met. No time passes.
    private func advance(_ loop: NIOAsyncTestingEventLoop, until isMet: () -> Bool) async throws {
        while !isMet() {
            try Task.checkCancellation()
            await loop.run()
            await Task.yield()
        }
    }

    @Test("the client refreshes by itself, 20 times on one connection")
    func automatic() async throws {
        let lifetimes = NIOLockedValueBox<[Duration?]>([])
        try await run([.success(.seconds(10))]) { loop, connection, refreshes in
            connection.onAuthenticationRefreshed { lifetime in lifetimes.withLockedValue { $0.append(lifetime) } }
            for count in 1...20 {
                await loop.advanceTime(by: .milliseconds(4_900))
                #expect(refreshes() == count - 1)
                await loop.advanceTime(by: .milliseconds(100))
                try await advance(loop) { lifetimes.withLockedValue { $0.count } == count }
            }
            #expect(refreshes() == 20)
            #expect(lifetimes.withLockedValue { $0.allSatisfy { $0 == .seconds(10) } })
        }
    }

    @Test("the client reports a failed refresh, and tries again")
    func retried() async throws {
        let errors = NIOLockedValueBox<[SignalRClientError.Code?]>([])
        let failure = SignalRClientError(.connectionFailed, "no network")
        try await run([.failure(failure), .success(nil)]) { loop, connection, refreshes in
            connection.onAuthenticationRefreshFailed { error in errors.withLockedValue { $0.append(code(error)) } }
            await loop.advanceTime(by: .seconds(5))
            try await advance(loop) { errors.withLockedValue { $0 } == [.connectionFailed] }
            await loop.advanceTime(by: .milliseconds(2_500))
            try await advance(loop) { refreshes() == 2 }
        }
    }

    @Test("a cancelled call throws at once")
    func cancelled() async throws {
        try await run([.success(nil)]) { loop, connection, _ in
            let call = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await connection.refreshAuthentication()
            }
            let ended = NIOLockedValueBox(false)
            let watcher = Task {
                _ = await call.result
                ended.withLockedValue { $0 = true }
            }
            try await advance(loop) { ended.withLockedValue { $0 } }
            await watcher.value
            await #expect(throws: CancellationError.self) { try await call.value }
        }
    }
}
