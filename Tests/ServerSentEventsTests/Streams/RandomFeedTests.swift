import EventStreamTestSupport
import NIOCore
import RealtimeHTTP
import ServerSentEvents
import TestSupport
import TestTraits
import Testing

/// Tests that read a feed of numbered events in virtual time. The server chooses its actions by a random generator with
/// a seed.
@Suite("Event streams with a server that acts at random", .limited)
struct RandomFeedTests {
    private static let count = 12

    @Test("the client delivers every event once and in order, with random losses", arguments: 1...300)
    func feed(_ seed: Int) async throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        let world = VirtualWorld()
        let recording = Recording(world.stream(options: with(EventStreamOptions()) { $0.idleTimeout = .seconds(30) }))
        let taken = Task { () -> [String] in
            var ids: [String] = []
            while let event = await recording.nextEvent() { ids.append(event.id) }
            return ids
        }
        // The task advances the clock by each wait, so waits take no real time.
        let states = recording.stream.states
        let clock = Task {
            for await state in states {
                if let delay = state.remaining(at: world.now) { await world.advance(by: delay) }
            }
        }
        var exchanges = 0
        while let exchange = await world.nextRequest() {
            exchanges += 1
            let seen = Int(exchange.request.headers["Last-Event-ID"] ?? "0") ?? 0
            if seen == Self.count {
                try await exchange.respond(204, [:])
                break
            }
            try await play(exchange, after: seen, &generator, world)
        }
        await clock.value
        #expect(await taken.value == (1...Self.count).map { "\($0)" }, "seed \(seed)")
        #expect(recording.stream.state == .closed(nil))
        let statistics = recording.stream.statistics
        #expect(statistics.events == Self.count)
        #expect(statistics.attempts == exchanges)
    }

    /// Answers one request completely or partially, and then ends the response.
    private func play(
        _ exchange: VirtualExchange,
        after seen: Int,
        _ generator: inout SeededGenerator,
        _ world: VirtualWorld
    ) async throws {
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: return await world.advance(by: .seconds(60))
        case 1: return try await exchange.bring(.failed(HTTPRequestError(.failed, "no connection")))
        case 2:
            try await exchange.respond(503, ["Retry-After": "1"])
            return try await exchange.bring(.end)
        default: break
        }
        try await exchange.respond()
        if generator.oneIn(4) { try await exchange.send("retry: \(Int.random(in: 0...9_000, using: &generator))\n") }
        let last = Int.random(in: seen...Self.count, using: &generator)
        let end = ["\n", "\r", "\r\n"][Int.random(in: 0..<3, using: &generator)]
        var text = ""
        for number in seen..<last { text += "id: \(number + 1)\(end)data: x\(end)\(end)" }
        // The client must discard an event that the loss cuts off.
        if generator.oneIn(2) { text += "id: 99\(end)data: cut off\(end)" }
        let bytes = Array(text.utf8)
        let places = (0..<3).map { _ in Int.random(in: 0...bytes.count, using: &generator) }.sorted()
        for piece in bytes.cut(at: places) where !piece.isEmpty {
            try await exchange.bring(.body(ByteBuffer(bytes: piece)))
        }
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: try await exchange.bring(.end)
        case 1: try await exchange.bring(.failed(HTTPRequestError(.failed, "reset")))
        default:
            // One step may not be enough, because a slow reader postpones the timeout.
            while !exchange.isCancelled { await world.advance(by: .seconds(31)) }
        }
    }
}
