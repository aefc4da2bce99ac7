import NIOCore
import PusherTestServer
import RealtimeHTTP
import TestSupport
import Testing

@testable import PusherClient

@Suite("HTTP transports and faults", .timeLimit(.minutes(5)))
struct HTTPFaultTests {
    private enum Fault: CaseIterable {
        case none, newSession, notFound, endedStream, brokenStream, drop, close, cut, lostAnswer, refusedSend,
            duplicated
    }

    @Test(
        "10,000 events arrive once and in order, while sessions move and are lost",
        arguments: [PusherTransport.httpStreaming, .httpPolling]
    )
    func tenThousandEvents(transport: PusherTransport) async throws {
        let world = VirtualWorld(transport: transport)
        world.network.latency = .milliseconds(10)
        let pusher = world.makeClient(.virtual(retryPolicy: .delays([.milliseconds(100)])))
        let channel = pusher.subscribe("orders")
        let numbers = Log<Int>()
        channel.bind(eventName: "e") { event in
            numbers.append(event.data.flatMap { Int($0.prefix { $0 != " " }) } ?? -1)
        }
        pusher.connect()
        var generator = SeededGenerator(seed: 26)
        var faults = Fault.allCases[...]
        var sent = 0
        while sent < 10_000 {
            let start = world.now
            while !channel.subscribed, world.now - start < .seconds(60) { await world.advance(by: .milliseconds(100)) }
            try #require(channel.subscribed)
            // Delayed or split data causes no loss of events.
            world.server.bufferStreams(until: Bool.random(using: &generator) ? 5_000 : nil)
            if Bool.random(using: &generator) {
                world.server.failTransportRequests(1, of: .polling, with: .delayed(.milliseconds(300)))
            }
            for _ in 0..<min(Int.random(in: 100...700, using: &generator), 10_000 - sent) {
                let padding = String(repeating: "x", count: Int.random(in: 0...1_000, using: &generator))
                try world.server.publish(event: "e", data: "\(sent) \(padding)", to: "orders")
                sent += 1
                if Int.random(in: 0..<100, using: &generator) == 0 { await world.advance(by: .milliseconds(5)) }
            }
            world.server.bufferStreams(until: nil)
            await world.advance(by: .seconds(3))
            try #require(numbers.elements == Array(0..<sent))
            if faults.isEmpty { faults = Fault.allCases[...] }
            await befall(faults.removeFirst(), world, pusher)
            await world.advance(by: .milliseconds(200))
        }
        let statistics = pusher.statistics
        #expect(statistics.connections.lost.values.reduce(0, +) >= 10)
        #expect(statistics.events.dropped.isEmpty && statistics.messages.malformed == 0)
        pusher.disconnect()
        await world.advance(by: .seconds(1))
        #expect(try await world.leftovers(of: pusher) == .none)
        #expect(world.network.exchanges.isEmpty)
    }

    private func befall(_ fault: Fault, _ world: VirtualWorld, _ pusher: Pusher) async {
        let server = world.server
        switch fault {
        case .none: break
        case .newSession: server.loseSessions(answering: .newSession)
        case .notFound: server.loseSessions(answering: .notFound)
        case .endedStream: server.endStreams()
        case .brokenStream: server.endStreams(cleanly: false)
        case .drop: server.dropConnections()
        case .close: server.closeConnections(code: 4200)
        case .cut: world.network.cutLinks()
        case .lostAnswer: server.failTransportRequests(1, of: .sending, with: .answerLost)
        case .refusedSend: server.failTransportRequests(1, of: .sending, with: .status(404))
        case .duplicated: server.failTransportRequests(1, of: .polling, with: .duplicated)
        }
        // A message to send, so that the client notices the loss.
        if fault != .none, fault != .duplicated { pusher.subscribe("other-\(world.now)".filter { $0 != " " }) }
        if fault == .newSession || fault == .notFound { pusher.checkConnection() }
        await world.advance(by: .seconds(40))
    }

    @Test("a session moves to another stream after 256 KiB, and no event is lost or repeated")
    func moves() async throws {
        let world = VirtualWorld()
        let streamer = CountingStreamer(streamer: InMemoryStreamer(server: world.network))
        let pusher = world.makeClient(transport: HTTPTransport(.streaming, over: streamer))
        let channel = pusher.subscribe("orders")
        pusher.connect()
        await world.run()
        let numbers = Log<Int>()
        channel.bind(eventName: "e") { event in
            numbers.append(event.data.flatMap { Int($0.prefix { $0 != " " }) } ?? -1)
        }
        let padding = String(repeating: "x", count: 10_000)
        for number in 0..<500 { try world.server.publish(event: "e", data: "\(number) \(padding)", to: "orders") }
        await world.advance(by: .seconds(5))
        #expect(numbers.elements == Array(0..<500))
        #expect(pusher.statistics.connections.established == 1)
        // Each has 256 KiB, and the rest of a frame.
        #expect((15...20).contains(streamer.streams.count))
    }

    /// Counts the requested streams.
    private struct CountingStreamer: HTTPStreamer {
        let streamer: InMemoryStreamer
        let streams = Log<String>()
        let requests = Log<HTTPRequest>()

        func stream(
            _ request: HTTPRequest,
            redirects: HTTPStreamRedirects,
            on eventLoop: any EventLoop,
            receive: @escaping @Sendable (HTTPStreamEvent) -> Void
        ) -> any HTTPStream {
            requests.append(request)
            if request.url.contains("/xhr_streaming") { streams.append(request.url) }
            return streamer.stream(request, redirects: redirects, on: eventLoop, receive: receive)
        }
    }

    @Test(
        "client events reach others once and in order, and one request runs at a time",
        arguments: [PusherTransport.httpStreaming, .httpPolling]
    )
    func sending(transport: PusherTransport) async throws {
        let world = VirtualWorld(transport: transport)
        let (one, other) = (world.makeClient(), world.makeClient())
        let channels = [one, other].map { $0.subscribe("private-chat") }
        for pusher in [one, other] { pusher.connect() }
        await world.runUntil { channels.allSatisfy { $0.subscribed } }
        try #require(channels.allSatisfy { $0.subscribed })
        world.network.latency = .milliseconds(20)
        let numbers = Log<String>()
        channels[1].bind(eventName: "client-n") { numbers.append($0.data ?? "") }
        for number in 0..<10 {
            channels[0].trigger(eventName: "client-n", data: number)
            if number % 3 == 0 { await world.advance(by: .milliseconds(5)) }
            #expect(world.network.exchanges.count <= 4)
        }
        await world.advance(by: .seconds(2))
        #expect(numbers.elements == (0..<10).map { "\($0)" })
    }

    @Test(
        "the server's heartbeats keep a stream and polls alive, and are answered",
        arguments: [PusherTransport.httpStreaming, .httpPolling]
    )
    func heartbeats(transport: PusherTransport) async throws {
        let world = VirtualWorld(heartbeats: .seconds(25), transport: transport)
        let pusher = try await world.makeConnectedClient()
        await world.advance(by: .seconds(110))
        // The heartbeats arrived before the activity timeout.
        #expect(pusher.statistics.pings.sent == 0)
        await world.advance(by: .seconds(1_000))
        #expect(pusher.statistics.connections.established == 1)
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test(
        "later requests go to the host that the server names",
        arguments: [PusherTransport.httpStreaming, .httpPolling]
    )
    func hostname(transport: PusherTransport) async throws {
        var options = PusherTestServer.Options()
        options.httpTransports.hostname = "sticky.test"
        let world = VirtualWorld(options)
        let streamer = CountingStreamer(streamer: InMemoryStreamer(server: world.network))
        let mode: HTTPSessionStateMachine.Mode = transport == .httpStreaming ? .streaming : .polling
        let clientOptions = PusherClientOptions.virtual()
        clientOptions.headers = ["Authorization": "hush", "X-Tenant": "7"]
        let pusher = world.makeClient(clientOptions, transport: HTTPTransport(mode, over: streamer))
        let channel = pusher.subscribe("orders")
        pusher.connect()
        await world.run()
        #expect(channel.subscribed)
        let requests = streamer.requests.elements
        #expect(requests.first?.headers["Authorization"] == "hush")
        let later = requests.filter { $0.url.contains("/xhr_send") }
        #expect(!later.isEmpty && later.allSatisfy { $0.url.contains("//sticky.test:") })
        // Secrets go only to the host that they were given for.
        #expect(later.allSatisfy { $0.headers["Authorization"] == nil && $0.headers["X-Tenant"] == "7" })
    }

    @Test(
        "a close code has the same effect as on a WebSocket",
        arguments: [PusherTransport.httpStreaming, .httpPolling]
    )
    func closeCodes(transport: PusherTransport) async throws {
        let world = VirtualWorld(transport: transport)
        let pusher = try await world.makeConnectedClient()
        await world.advance(by: .seconds(2))
        world.server.closeConnections(code: 4200)
        await world.run()
        #expect(pusher.connection.connectionState == .connected)
        #expect(pusher.statistics.connections.lost == [.closed42xx: 1])
        world.server.closeConnections(code: 4001, reason: "gone")
        await world.run()
        #expect(pusher.connection.status.reason?.serverCode == 4001)
        #expect(pusher.statistics.connections.refused == 1)
    }
}
