import ClientTestSupport
import Logging
import PusherTestServer
import RealtimeNetworking
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Connecting through networks that block WebSockets", .limited)
struct FallbackTests {
    let world = VirtualWorld()

    private func options(
        _ transports: PusherTransports = .webSocketWithHTTPFallback,
        log: LogLines? = nil,
        timeouts: PusherTimeouts = PusherTimeouts()
    ) -> PusherClientOptions {
        .virtual(
            authMethod: .noMethod,
            timeouts: timeouts,
            transports: transports,
            logger: log?.logger(.notice)
        )
    }

    static let faults: [(PusherTestRelay.UpgradeFault, Duration, PusherClientError.Code)] = [
        (.swallowed, .seconds(2), .connectionTimedOut), (.answered(status: 400), .zero, .upgradeFailed),
        (.answered(status: 426), .zero, .upgradeFailed), (.reset, .zero, .connectionClosed),
    ]

    @Test(
        "the client connects over HTTP streaming, and reports why it does not use a WebSocket",
        arguments: Self.faults
    )
    func blocked(fault: PusherTestRelay.UpgradeFault, time: Duration, reason: PusherClientError.Code) async throws {
        world.network.latency = .milliseconds(50)
        world.network.blockUpgrades(with: fault)
        let log = LogLines()
        let pusher = world.makeClient(options(log: log))
        pusher.connect()
        await world.advance(by: time + .seconds(1))
        #expect(pusher.connection.connectionState == .connected)
        #expect(pusher.transport == .httpStreaming)
        let statistics = pusher.statistics.connections
        #expect(statistics.transport == .httpStreaming && statistics.establishedOver == [.httpStreaming: 1])
        #expect(Array(statistics.unusedTransports.keys) == [.webSocket])
        let message = try #require(statistics.unusedTransports[.webSocket]?.message)
        if fault != .reset { #expect(statistics.unusedTransports[.webSocket]?.code == reason) }
        #expect(log.messages.contains { $0.contains("A transport is not used") && $0.contains(message) })
        // The connection works like any other.
        let channel = pusher.subscribe("orders")
        await world.advance(by: .seconds(1))
        #expect(channel.subscribed)
        pusher.disconnect()
        await world.advance(by: .seconds(1))
        #expect(try await world.leftovers(of: pusher) == .none)
        #expect(pusher.transport == nil)
    }

    @Test("the log says which transport carries the connection after a loss")
    func loggedTransport() async {
        world.network.blockUpgrades(with: .answered(status: 400))
        let log = LogLines()
        let pusher = world.makeClient(options(log: log))
        pusher.connect()
        await world.run()
        world.server.dropConnections()
        await world.advance(by: .seconds(2))
        let line = log.messages.first { $0.hasPrefix("Connected again") } ?? ""
        #expect(line.contains(#""pusher.transport": HTTP streaming"#))
    }

    @Test("the client connects by HTTP polling within 10 s if the network also buffers streams", arguments: Self.faults)
    func buffered(fault: PusherTestRelay.UpgradeFault, time: Duration, reason: PusherClientError.Code) async {
        world.network.blockUpgrades(with: fault)
        world.server.bufferStreams(until: 1 << 20)
        let pusher = world.makeClient(options())
        pusher.connect()
        await world.advance(by: .seconds(10))
        #expect(pusher.connection.transport == .httpPolling)
        let unused = pusher.statistics.connections.unusedTransports
        #expect(Set(unused.keys) == [.webSocket, .httpStreaming])
        let reason = "because the request was not answered. A proxy may hold the answer back."
        #expect(unused[.httpStreaming]?.message.hasSuffix(reason) == true)
    }

    @Test("the client makes no HTTP request if WebSockets work")
    func webSocket() async {
        let pusher = world.makeClient(options())
        pusher.connect()
        await world.advance(by: .seconds(60))
        #expect(pusher.connection.transport == .webSocket)
        #expect(pusher.statistics.connections.unusedTransports.isEmpty)
        #expect(world.server.connections.map(\.transport) == [.webSocket])
        #expect(world.network.exchanges.isEmpty)
    }

    @Test("the client uses a late WebSocket that connects before HTTP, and cancels the HTTP request")
    func lateWebSocket() async {
        world.network.latency = .milliseconds(900)
        let pusher = world.makeClient(options())
        pusher.connect()
        await world.advance(by: .seconds(10))
        #expect(pusher.connection.transport == .webSocket)
        await world.advance(by: .seconds(10))
        #expect(world.network.exchanges.isEmpty)
        #expect(world.server.connections.map(\.transport) == [.webSocket])
    }

    @Test("an unreachable server causes one failed attempt, with the reasons of all transports")
    func unreachable() async {
        world.network.failLinks(with: .unreachable)
        let pusher = world.makeClient(options())
        pusher.connect()
        await world.run()
        #expect(pusher.connection.connectionState == .reconnecting)
        let message = pusher.connection.status.reason?.message ?? ""
        #expect(message.contains("HTTP streaming: ") && message.contains("HTTP polling: "))
        #expect(pusher.statistics.connections.attempts == 1)
        #expect(pusher.statistics.connections.failedAttempts == [.network: 1])
        world.network.failLinks(with: nil)
        await world.advance(by: .seconds(1))
        #expect(pusher.connection.transport == .webSocket)
    }

    @Test("a server's error about the app fails the attempt over every transport")
    func refused() async {
        world.network.blockUpgrades(with: .answered(status: 426))
        let pusher = world.makeClient(key: "unknown", options())
        pusher.connect()
        await world.run()
        guard case .refused(let error) = pusher.connection.status else {
            Issue.record("\(pusher.connection.status)")
            return
        }
        #expect(error.serverCode == 4001)
    }

    @Test("the client gets a refusal over HTTP that arrives while an open WebSocket is silent")
    func refusedWhileWaiting() async {
        world.network.latency = .milliseconds(300)
        world.server.failConnections(1, with: .silent)
        world.server.failConnections(with: .error(code: 4004, message: "over quota"))
        let pusher = world.makeClient(options())
        pusher.connect()
        await world.advance(by: .seconds(10))
        guard case .refused(let error) = pusher.connection.status else {
            Issue.record("\(pusher.connection.status)")
            return
        }
        #expect(error.serverCode == 4004)
        #expect(world.network.exchanges.isEmpty && world.network.links.isEmpty)
    }

    @Test("HTTP streaming connects within a short time limit, even if the client remembers the WebSocket")
    func shortTimeLimit() async {
        var timeouts = PusherTimeouts()
        timeouts.connectionAttempt = .milliseconds(600)
        let pusher = world.makeClient(options(timeouts: timeouts))
        pusher.connect()
        await world.run()
        #expect(pusher.transport == .webSocket)
        world.network.blockUpgrades(with: .swallowed)
        world.server.closeConnections(code: 4200)
        await world.advance(by: .milliseconds(1_500))
        #expect(pusher.transport == .httpStreaming)
        #expect(pusher.statistics.connections.failedAttempts.isEmpty)
    }

    @Test("disconnect() or a timeout during the choice cancels all requests, links and timers")
    func abandoned() async throws {
        world.network.blockUpgrades(with: .swallowed)
        world.server.failTransportRequests(with: .unanswered)
        let pusher = world.makeClient(options())
        pusher.connect()
        await world.advance(by: .seconds(7))
        #expect(world.network.exchanges.count == 2)
        pusher.disconnect()
        await world.run()
        #expect(world.network.exchanges.isEmpty && world.network.links.isEmpty)
        #expect(try await world.leftovers(of: pusher) == .none)
        pusher.connect()
        await world.advance(by: .milliseconds(15_500))
        #expect(pusher.statistics.connections.failedAttempts == [.connectionTimeout: 1])
        let message = try #require(pusher.connection.status.reason?.message)
        #expect(message.hasSuffix("a connection was not opened. A proxy may hold the answer back."), "\(message)")
        #expect(world.network.exchanges.isEmpty && world.network.links.isEmpty)
    }

    // MARK: Memory

    @Test("three more attempts begin with the WebSocket, and later attempts begin with HTTP for half an hour")
    func memory() async {
        world.network.blockUpgrades(with: .swallowed)
        let pusher = world.makeClient(options())
        pusher.connect()
        await world.advance(by: .seconds(3))
        var times: [Duration] = []
        var reasons: [String] = []
        for _ in 0..<5 {
            world.server.closeConnections(code: 4200)
            await world.run()
            let start = world.now
            while pusher.connection.connectionState != .connected, world.now - start < .seconds(10) {
                await world.advance(by: .milliseconds(100))
            }
            times.append(world.now - start)
            reasons.append(pusher.statistics.connections.unusedTransports[.webSocket]?.message ?? "")
            #expect(pusher.connection.transport == .httpStreaming)
            await world.advance(by: .seconds(2))
        }
        #expect(times.map { $0 >= .seconds(2) } == [true, true, true, false, false])
        let timeout = "Connection timed out: there was no connection by WebSocket within 2 s."
        let remembered = "Not tried: HTTP streaming carried the last connections. The last try failed: \(timeout)"
        #expect(reasons == [timeout, timeout, timeout, remembered, remembered])
        // The client remembers nothing after half an hour.
        world.network.blockUpgrades(with: nil)
        await world.advance(by: .seconds(1_801))
        world.server.closeConnections(code: 4200)
        await world.advance(by: .seconds(1))
        #expect(pusher.connection.transport == .webSocket)
    }

    @Test("the client does not remember a transport if the server sent no greeting over it")
    func noGreeting() async {
        world.server.failConnections(1, with: .error(code: 4100, message: "over capacity"))
        let pusher = world.makeClient(options())
        pusher.connect()
        await world.run()
        #expect(pusher.connection.connectionState == .reconnecting)
        // If the client remembered the WebSocket, it would try the WebSocket alone for one more second.
        world.network.blockUpgrades(with: .swallowed)
        let start = world.now
        while pusher.connection.connectionState != .connected, world.now - start < .seconds(10) {
            await world.advance(by: .milliseconds(100))
        }
        // The client has waited for one second and tried the WebSocket alone for two seconds.
        #expect(world.now - start >= .seconds(3) && world.now - start < .seconds(3.5))
    }

    @Test("each client has its own memory of transports")
    func otherClient() async {
        world.network.blockUpgrades(with: .swallowed)
        for _ in 0..<2 {
            let pusher = world.makeClient(options())
            pusher.connect()
            await world.advance(by: .seconds(1))
            #expect(pusher.connection.connectionState == .connecting)
            await world.advance(by: .seconds(2))
            #expect(pusher.connection.connectionState == .connected)
        }
    }

    @Test("polling replaces a stream that is lost early twice")
    func unstableStream() async {
        world.network.blockUpgrades(with: .answered(status: 400))
        let pusher = world.makeClient(options())
        pusher.connect()
        await world.run()
        for transport in [PusherTransport.httpStreaming, .httpPolling] {
            world.server.endStreams()
            await world.advance(by: .seconds(10))
            #expect(pusher.connection.transport == transport)
        }
        #expect(
            pusher.statistics.connections.unusedTransports[.httpStreaming]?.message.contains("lost early") == true
        )
    }

    @Test("polling replaces a stream that becomes silent twice")
    func silentStream() async {
        world.network.blockUpgrades(with: .answered(status: 400))
        let pusher = world.makeClient(options())
        pusher.connect()
        await world.run()
        for _ in 0..<2 {
            world.network.blackHoleLinks()
            await world.advance(by: .seconds(160))
        }
        #expect(pusher.connection.transport == .httpPolling)
    }

    @Test("a stream that ends because of the app, the server or a suspension does not count as an early loss")
    func otherEnds() async {
        world.network.blockUpgrades(with: .answered(status: 400))
        let pusher = world.makeClient(options())
        pusher.connect()
        await world.run()
        for _ in 0..<2 {
            pusher.reconnectNow()
            await world.run()
            world.server.closeConnections(code: 1001)
            await world.advance(by: .seconds(2))
            world.network.blackHoleLinks()
            await world.advance(by: .seconds(125))
            world.suspend(for: .seconds(600))
            await world.advance(by: .seconds(35))
        }
        let lost = pusher.statistics.connections.lost
        #expect(lost == [.replaced: 2, .closed: 2, .suspended: 2])
        #expect(pusher.transport == .httpStreaming)
    }

    @Test("a stream that is lost during a suspension does not count as an early loss")
    func interruptedSleep() async {
        world.network.blockUpgrades(with: .answered(status: 400))
        let pusher = world.makeClient(options())
        pusher.connect()
        await world.run()
        for _ in 0..<3 {
            world.suspend(for: .seconds(600))
            world.server.endStreams(cleanly: false)
            await world.advance(by: .seconds(10))
        }
        #expect(pusher.statistics.connections.lost == [.suspended: 3])
        #expect(pusher.transport == .httpStreaming)
    }

    @Test("a stream that is lost after a refused request or with its session does not count as an early loss")
    func refusedRequests() async {
        world.network.blockUpgrades(with: .answered(status: 400))
        let pusher = world.makeClient(options())
        pusher.connect()
        await world.run()
        for status in [404, 413, 500] {
            world.server.failTransportRequests(1, of: .sending, with: .status(status))
            pusher.checkConnection()
            await world.advance(by: .seconds(10))
            world.server.loseSessions()
            pusher.checkConnection()
            await world.advance(by: .seconds(10))
        }
        #expect(pusher.statistics.connections.lost.values.reduce(0, +) == 6)
        #expect(pusher.transport == .httpStreaming)
    }

    // MARK: Options

    @Test("the client rejects an empty list of transports")
    func none() {
        let pusher = world.makeClient(options([]))
        pusher.connect()
        #expect(pusher.connection.status.reason?.code == .invalidOption)
    }

    @Test("the client uses the only transport in its options", arguments: PusherTransport.allCases)
    func one(transport: PusherTransport) async {
        let pusher = world.makeClient(options([transport]))
        pusher.connect()
        await world.run()
        #expect(pusher.connection.transport == transport)
        #expect(world.server.connections.map { "\($0.transport)" } == [transport.rawValue])
    }

    @Test("the client begins with the first transport of the list, and the list has no duplicates")
    func order() async {
        #expect(PusherTransports([.httpPolling, .webSocket, .httpPolling]).elements == [.httpPolling, .webSocket])
        let pusher = world.makeClient(options([.httpPolling, .webSocket]))
        pusher.connect()
        await world.run()
        #expect(pusher.connection.transport == .httpPolling)
    }

    @Test("the server's address determines the address of its HTTP transports")
    func addresses() throws {
        typealias Address = PusherEndpoint.HTTPAddress
        let expected: [(PusherEndpoint, Address)] = [
            (.pusher(cluster: "eu"), Address(host: "sockjs-eu.pusher.com", port: 443)),
            (PusherEndpoint(host: "ws.pusherapp.com"), Address(host: "sockjs.pusher.com", port: 443)),
            (PusherEndpoint(host: "ws-eu.pusher.com", useTLS: false), Address(host: "sockjs-eu.pusher.com", port: 80)),
            (PusherEndpoint(host: "ws.example.com", port: 9_000), Address(host: "ws.example.com", port: 9_000)),
        ]
        for (endpoint, address) in expected { #expect(endpoint.httpAddress == address) }
        var own = PusherEndpoint(host: "ws.test", useTLS: false)
        own.http = Address(host: "[::1]", port: 81, path: "/realtime/")
        let options = PusherClientOptions(endpoint: own, transports: .webSocketWithHTTPFallback)
        let request = try Endpoint(key: "key", options: options).request(options: options)
        #expect(request.http.host == "::1" && request.http.port == 81 && request.http.path == "/realtime/app/key")
        #expect(request.http.query == "client=pusher-client-swift&version=\(Endpoint.version)&protocol=7")
        let invalid: [(Address, PusherClientError.Code)] = [
            (Address(host: "a b", port: 1), .invalidHost), (Address(host: "a", port: 0), .invalidPort),
            (Address(host: "a", port: 1, path: "x"), .invalidPath),
        ]
        for (address, code) in invalid {
            own.http = address
            let options = PusherClientOptions(endpoint: own, transports: .webSocketWithHTTPFallback)
            let error = #expect(throws: PusherClientError.self) {
                try Endpoint(key: "key", options: options).request(options: options)
            }
            #expect(error?.code == code, "\(address)")
            // A client that uses only WebSockets does not need the HTTP address.
            _ = try Endpoint(key: "key", options: PusherClientOptions(endpoint: own)).request(
                options: PusherClientOptions(endpoint: own)
            )
        }
    }
}
