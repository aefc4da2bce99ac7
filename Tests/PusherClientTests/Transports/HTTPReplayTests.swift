import NIOConcurrencyHelpers
import PusherTestServer
import PusherVirtualTime
import RealtimeNetworking
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

/// A source of numbered events that knows which events its client has received. The source sends events on the client's
/// newest connection. After a loss, the source continues with the first event that did not arrive.
///
/// The source records an event in `outOfTurn` if the event arrives twice, or after a missing event on the same
/// connection.
private final class NumberedEvents: Sendable {
    private struct State: Sendable {
        var socketID: String?
        var next = 0
        var received = 0
        var repeated = 0
        /// The bytes of the current connection's events that have arrived.
        var size = 0
        var largestSize = 0
        var outOfTurn: [Int] = []
        var generator = SeededGenerator(seed: 26)
    }

    static let channel = "orders"

    let total: Int
    private let window: Int
    private let padding: Int
    private let state = NIOLockedValueBox(State())

    /// - Parameters:
    ///   - window: The maximum number of events in transit.
    ///   - padding: The maximum number of further bytes of an event.
    init(_ total: Int, window: Int, padding: Int = 300) {
        self.total = total
        self.window = window
        self.padding = padding
    }

    /// The number of events that have arrived once and in order.
    var received: Int { state.withLockedValue { $0.received } }
    /// The number of events that were lost with a connection and sent again.
    var repeated: Int { state.withLockedValue { $0.repeated } }
    /// The largest number of bytes that have arrived on one connection.
    var largestSize: Int { state.withLockedValue { $0.largestSize } }
    var outOfTurn: [Int] { state.withLockedValue { $0.outOfTurn } }

    func random(_ range: ClosedRange<Int>) -> Int {
        state.withLockedValue { Int.random(in: range, using: &$0.generator) }
    }

    func bind(to channel: PusherChannel, _ then: @escaping @Sendable () -> Void = {}) {
        channel.bind(eventName: "e") { event in
            let number = event.data.flatMap { Int($0.prefix { $0 != " " }) } ?? -1
            self.state.withLockedValue { state in
                if number == state.received { state.received += 1 } else { state.outOfTurn.append(number) }
                state.size += event.data?.utf8.count ?? 0
                state.largestSize = max(state.largestSize, state.size)
            }
            then()
        }
    }

    /// Sends the next events. Returns `false` if no event may be sent, or the client has no connection.
    func send(_ count: Int, from server: PusherTestServer) -> Bool {
        let newest = server.connections.last { $0.subscribedChannels.contains(Self.channel) }
        guard let socketID = newest?.socketID else { return false }
        let numbers = state.withLockedValue { state in
            if socketID != state.socketID {
                state.repeated += state.next - state.received
                (state.socketID, state.next, state.size) = (socketID, state.received, 0)
            }
            let start = state.next
            state.next = max(start, min(start + count, total, state.received + window))
            return start..<state.next
        }
        for number in numbers {
            let data = "\(number) \(String(repeating: "x", count: random(0...padding)))"
            server.sendEvent("e", data: data, channel: Self.channel, to: .socket(socketID))
        }
        return !numbers.isEmpty
    }
}

@Suite("10,000 events over HTTP with lost connections", .limited)
struct HTTPReplayTests {
    private static let transports: [PusherTransport] = [.httpStreaming, .httpPolling]

    private enum Fault: CaseIterable {
        case newSession, notFound, endedStream, brokenStream, drop, close, cut, lostAnswer, refusedSend, duplicated,
            delayedPoll
    }

    @Test(
        "each event arrives once and in order if the server repeats events that were lost with a connection",
        arguments: transports
    )
    func replayed(transport: PusherTransport) async throws {
        var options = PusherTestServer.Options()
        options.httpTransports.streamLimit = 10_000
        let world = VirtualWorld(options)
        world.network.latency = .milliseconds(10)
        let streamer = CountingStreamer(streamer: InMemoryStreamer(server: world.network))
        let limits = HTTPTransport.Limits(streamLength: 10_000)
        let mode: HTTPSessionStateMachine.Mode = transport == .httpStreaming ? .streaming : .polling
        let pusher = world.makeClient(
            .virtual(activityTimeout: 5, retryPolicy: .delays([.milliseconds(100)])),
            transport: HTTPTransport(mode, over: streamer, limits: limits)
        )
        let events = NumberedEvents(10_000, window: 300)
        events.bind(to: pusher.subscribe(NumberedEvents.channel))
        pusher.connect()
        var faults = Fault.allCases[...]
        var nextFault = 200
        let start = world.now
        while events.received < events.total, events.outOfTurn.isEmpty, world.now - start < .seconds(4_000) {
            guard events.send(events.random(1...40), from: world.server) else {
                world.server.bufferStreams(until: nil)
                await world.advance(by: .milliseconds(50))
                continue
            }
            // The next fault comes while events are in transit.
            await world.advance(by: .milliseconds(events.random(0...12)))
            if events.random(0...40) == 0 {
                world.server.bufferStreams(until: events.random(0...1) == 0 ? 5_000 : nil)
            }
            guard events.received >= nextFault else { continue }
            nextFault = events.received + events.random(100...500)
            if faults.isEmpty { faults = Fault.allCases[...] }
            befall(faults.removeFirst(), world, pusher)
        }
        #expect(events.outOfTurn == [])
        #expect(events.received == events.total)
        // Events were lost only with connections, and the statistics count each loss.
        let statistics = pusher.statistics
        #expect(statistics.connections.lost.values.reduce(0, +) >= 10 && events.repeated > 100)
        #expect(statistics.events.dropped.isEmpty && statistics.messages.malformed == 0)
        if transport == .httpStreaming { #expect(streamer.streams.count > 100) }
        pusher.disconnect()
        await world.advance(by: .seconds(1))
        #expect(try await world.leftovers(of: pusher) == .none)
        #expect(world.network.exchanges.isEmpty)
    }

    private func befall(_ fault: Fault, _ world: VirtualWorld, _ pusher: Pusher) {
        let server = world.server
        switch fault {
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
        case .delayedPoll: server.failTransportRequests(1, of: .polling, with: .delayed(.milliseconds(300)))
        }
        // The request lets the client notice the fault.
        pusher.checkConnection()
    }

    private enum RelayFault: CaseIterable {
        case fin, reset, late, held, trickled, swallowed, newSession, notFound, endedStream, brokenStream, drop, close,
            refusedConnections, duplicated
    }

    @Test("each event arrives once and in order through a relay whose connections break", arguments: transports)
    func relayed(transport: PusherTransport) async throws {
        try await withRelay(activityTimeout: 5, transports: [transport]) { server, relay, pusher in
            let channel = pusher.subscribe(NumberedEvents.channel)
            let events = NumberedEvents(5_000, window: 300, padding: 3_000)
            let (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            let resubscriptions = channel.resubscriptions
            let watcher = Task { for await _ in resubscriptions { continuation.yield() } }
            defer { watcher.cancel() }
            events.bind(to: channel) { continuation.yield() }
            try await pusher.connected()
            try await channel.subscribed()
            continuation.yield()
            var faults = RelayFault.allCases[...]
            var nextFault = 200
            for await _ in signals {
                guard events.received < events.total, events.outOfTurn.isEmpty else { break }
                while events.send(100, from: server) {}
                guard events.received >= nextFault else { continue }
                nextFault = events.received + events.random(100...500)
                if faults.isEmpty { faults = RelayFault.allCases[...] }
                await befall(faults.removeFirst(), events, server, relay, pusher)
            }
            #expect(events.outOfTurn == [])
            #expect(events.received == events.total)
            #expect(pusher.statistics.connections.lost.values.reduce(0, +) >= 5)
            #expect(events.repeated > 0)
            // At this size, the server stops until the client moves its session to another stream.
            if transport == .httpStreaming {
                #expect(events.largestSize > 2 * server.options.httpTransports.streamLimit)
            }
        }
    }

    private func befall(
        _ fault: RelayFault,
        _ events: NumberedEvents,
        _ server: PusherTestServer,
        _ relay: PusherTestRelay,
        _ pusher: Pusher
    ) async {
        relay.passOn()
        switch fault {
        case .fin: relay.dropConnections()
        case .reset: relay.resetConnections()
        case .late: relay.fail(with: .delayed(.milliseconds(20)))
        case .held, .trickled:
            let sizeBefore = size(relay, \.receivedFromClient)
            relay.fail(.toClient, with: fault == .held ? .held : .trickled(every: .milliseconds(1)))
            while events.send(100, from: server) {}
            // The client's next request usually leaves the relay time to hold bytes back.
            pusher.checkConnection()
            _ = try? await relay.nextConnection(timeout: .seconds(1)) { _ in
                size(relay, \.receivedFromClient) > sizeBefore
            }
            relay.passOn()
        case .swallowed:
            let sizeBefore = size(relay, \.swallowed)
            relay.fail(.toClient, with: .swallowed)
            while events.send(100, from: server) {}
            pusher.checkConnection()
            _ = try? await relay.nextConnection(timeout: .seconds(1)) { _ in size(relay, \.swallowed) > sizeBefore }
            // A connection that lost bytes cannot continue.
            relay.resetConnections()
            relay.passOn()
        case .newSession: server.loseSessions(answering: .newSession)
        case .notFound: server.loseSessions(answering: .notFound)
        case .endedStream: server.endStreams()
        case .brokenStream: server.endStreams(cleanly: false)
        case .drop: server.dropConnections()
        case .close: server.closeConnections(code: 4200)
        case .refusedConnections:
            relay.failConnections(3, with: .reset)
            relay.dropConnections()
        case .duplicated: server.failTransportRequests(1, of: .polling, with: .duplicated)
        }
        pusher.checkConnection()
    }

    private func size(_ relay: PusherTestRelay, _ field: KeyPath<PusherTestRelay.Connection, Int>) -> Int {
        relay.connections.reduce(0) { $0 + $1[keyPath: field] }
    }
}
