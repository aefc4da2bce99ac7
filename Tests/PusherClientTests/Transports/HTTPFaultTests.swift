import PusherTestServer
import PusherVirtualTime
import RealtimeHTTP
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("HTTP transports and faults", .limited)
struct HTTPFaultTests {
    /// Publishes 500 events of 10,000 bytes, and checks that all arrive on one connection.
    private func moves(filling character: Character, refusing count: Int = 0) async throws {
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
        if count > 0 { world.server.failTransportRequests(count, of: .streaming, with: .status(503)) }
        let padding = String(repeating: character, count: 10_000 / character.utf8.count)
        for number in 0..<500 { try world.server.publish(event: "e", data: "\(number) \(padding)", to: "orders") }
        // After a refusal, the server ends the stream only after five seconds.
        await world.advance(by: .seconds(count > 0 ? 10 : 5))
        #expect(numbers.elements == Array(0..<500))
        let connections = pusher.statistics.connections
        #expect(connections.established == 1 && connections.lost.isEmpty)
        // Each stream has 256 KiB or as many UTF-16 units, and then the rest of its last frame.
        let counts = character.utf8.count == 1 ? 15...20 : 8...20
        #expect(counts.contains(streamer.streams.count - count))
    }

    @Test("no event is lost or arrives twice when a session continues with another stream after 256 KiB")
    func moves() async throws { try await moves(filling: "x") }

    @Test("a session also moves without loss if the client counts more bytes than the server counts UTF-16 units")
    func movesEarly() async throws { try await moves(filling: "é") }

    @Test("if the server refuses a handover, the session continues when the server ends the old stream")
    func refusedHandover() async throws { try await moves(filling: "x", refusing: 1) }

    @Test(
        "other clients get client events once and in order over HTTP",
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
        "the client reports a client event whose request gets no answer, and does not repeat the event",
        arguments: [PusherTransport.httpStreaming, .httpPolling],
        [PusherTestServer.TransportRequestFault.answerLost, .dropped]
    )
    func unansweredClientEvent(
        transport: PusherTransport,
        fault: PusherTestServer.TransportRequestFault
    ) async throws {
        let world = VirtualWorld(transport: transport)
        let pushers = [world.makeClient(), world.makeClient()]
        let channels = pushers.map { $0.subscribe("private-chat") }
        for pusher in pushers { pusher.connect() }
        await world.runUntil { channels.allSatisfy { $0.subscribed } }
        let received = Log<String>()
        channels[1].bind(eventName: "client-n") { received.append($0.data ?? "") }
        let errors = Log<PusherClientError>()
        let reports = pushers[0].errors
        let reader = Task { for await error in reports { errors.append(error) } }
        world.server.failTransportRequests(1, of: .sending, with: fault)
        channels[0].trigger(eventName: "client-n", data: 1)
        await world.advance(by: .seconds(5))
        await world.runUntil { channels[0].subscribed }
        // The client sends later client events as usual.
        channels[0].trigger(eventName: "client-n", data: 2)
        await world.advance(by: .seconds(2))
        #expect(received.elements == (fault == .answerLost ? ["1", "2"] : ["2"]))
        #expect(pushers[0].statistics.clientEvents.dropped == 1 && pushers[0].statistics.clientEvents.sent == 1)
        await world.runUntil { errors.elements.contains { $0.message.contains(#""client-n" may not have arrived"#) } }
        #expect(errors.elements.filter { $0.channelName != nil }.map(\.code) == [.unanswered])
        reader.cancel()
    }

    @Test(
        "send() throws different errors for an event that may have arrived and an event that was not sent",
        arguments: [PusherTransport.httpStreaming, .httpPolling]
    )
    func unansweredSend(transport: PusherTransport) async throws {
        let world = VirtualWorld(transport: transport)
        let pusher = world.makeClient()
        let channel = pusher.subscribe("private-chat")
        pusher.connect()
        await world.runUntil { channel.subscribed }
        world.server.failTransportRequests(1, of: .sending, with: .unanswered)
        let codes = Log<PusherClientError.Code?>()
        var tasks: [Task<Void, Never>] = []
        for number in 1...2 {
            tasks.append(
                Task {
                    let error = await #expect(throws: PusherClientError.self) {
                        try await channel.send("client-n", data: number)
                    }
                    codes.append(error?.code)
                }
            )
            // The client sends the second event only after the first request has ended.
            await world.runUntil { pusher.statistics.clientEvents.accepted == number }
        }
        world.network.cutLinks()
        await world.runUntil { codes.elements.count == 2 }
        for task in tasks { await task.value }
        #expect(Set(codes.elements) == [.unanswered, .notSubscribed])
    }

    @Test(
        "the server's heartbeats keep streams and polls alive",
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
        "the client sends later requests to the host that the server names",
        arguments: [PusherTransport.httpStreaming, .httpPolling]
    )
    func hostname(transport: PusherTransport) async throws {
        var options = PusherTestServer.Options()
        options.httpTransports.hostname = "sticky.test"
        let world = VirtualWorld(options)
        let streamer = CountingStreamer(streamer: InMemoryStreamer(server: world.network))
        let mode: HTTPSessionStateMachine.Mode = transport == .httpStreaming ? .streaming : .polling
        let clientOptions = PusherClientOptions.virtual()
        clientOptions.headers = ["Authorization": "hush", "X-Tenant": "7", "Accept": "a"]
        let pusher = world.makeClient(clientOptions, transport: HTTPTransport(mode, over: streamer))
        let channel = pusher.subscribe("orders")
        pusher.connect()
        await world.run()
        #expect(channel.subscribed)
        let requests = streamer.requests.elements
        #expect(requests.first?.headers["Authorization"] == "hush")
        let later = requests.filter { $0.url.contains("/xhr_send") }
        #expect(!later.isEmpty && later.allSatisfy { $0.url.contains("//sticky.test:") })
        // The app's header fields may be secret, so the client sends them only to the host in its options.
        #expect(later.allSatisfy { $0.headers["Authorization"] == nil && $0.headers["X-Tenant"] == nil })
        #expect(later.allSatisfy { $0.headers["Content-Type"] == "application/json" && $0.headers["Accept"] == "a" })
    }

    @Test(
        "a close code over HTTP has the same effect as on a WebSocket",
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
