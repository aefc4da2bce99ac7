import EventStreamTestSupport
import NIOConcurrencyHelpers
import RealtimeHTTP
import ServerSentEvents
import TestSupport
import TestTraits
import Testing

/// Tests in virtual time.
@Suite("Event streams that reconnect", .limited)
struct ReconnectingTests {
    private static let fixed = with(EventStreamOptions()) { $0.retryPolicy = .delays([.zero]) }
    private static let post = EventStreamRequest("http://example.com", method: "POST", body: [1])

    @Test("reconnects after the default of three seconds, with the id, and delivers the next events")
    func reconnects() async throws {
        let world = VirtualWorld()
        let recording = Recording(world.stream(options: Self.fixed))
        let first = try #require(await world.nextRequest())
        #expect(first.request.headers["Last-Event-ID"] == nil)
        try await first.respond()
        try await first.send("id: …1\ndata: a\n\ndata: b\n\nid: 2\ndata: cut off\n")
        #expect(await recording.nextEvent() == ServerSentEvent(data: "a", id: "…1"))
        #expect(await recording.nextEvent() == ServerSentEvent(data: "b", id: "…1"))
        try await first.bring(.end)
        #expect(await recording.nextError()?.code == .connectionLost)
        // When the error arrives, the client is already waiting.
        #expect(recording.stream.state.readyState == .connecting)
        await world.advance(by: .milliseconds(2_999))
        #expect(world.requestCount == 1)
        await world.advance(by: .milliseconds(1))
        let second = try #require(await world.nextRequest())
        #expect(second.request.headers["Last-Event-ID"] == "…1")
        try await second.respond()
        try await second.send("data: c\n\n")
        #expect(await recording.nextEvent() == ServerSentEvent(data: "c", id: "…1"))
    }

    @Test("the server's reconnection time applies until it sends another one")
    func retry() async throws {
        let world = VirtualWorld()
        let recording = Recording(world.stream(options: Self.fixed))
        for (text, seconds) in [("retry: 7000\n", 7), ("data: x\n\n", 7), ("retry: 5000\n", 5)] {
            let exchange = try #require(await world.nextRequest())
            try await exchange.respond()
            try await exchange.send(text)
            try await exchange.bring(.end)
            #expect(await recording.nextError() != nil)
            #expect(recording.stream.reconnectionTime == .seconds(seconds))
            let count = world.requestCount
            await world.advance(by: .seconds(seconds) - .milliseconds(1))
            #expect(world.requestCount == count)
            await world.advance(by: .milliseconds(1))
        }
    }

    @Test("the client sends no id after the server has cleared it")
    func clearedID() async throws {
        let world = VirtualWorld()
        let recording = Recording(world.stream(options: .quick))
        let first = try #require(await world.nextRequest())
        try await first.respond()
        try await first.send("id: 1\ndata: a\n\nid:\ndata: b\n\n")
        try await first.bring(.end)
        #expect(await recording.nextError() != nil)
        await world.advance(by: .zero)
        #expect(await world.nextRequest()?.request.headers["Last-Event-ID"] == nil)
        #expect(recording.stream.lastEventID == "")
    }

    @Test("the client sends no id that contains control characters")
    func unsendableID() async throws {
        let world = VirtualWorld()
        let recording = Recording(world.stream(options: .quick))
        let first = try #require(await world.nextRequest())
        try await first.respond()
        try await first.send("id: \u{1}\ndata: a\n\n")
        try await first.bring(.end)
        #expect(await recording.nextError() != nil)
        await world.advance(by: .zero)
        #expect(await world.nextRequest()?.request.headers["Last-Event-ID"] == nil)
        #expect(recording.stream.lastEventID == "\u{1}")
    }

    @Test("the client sends the body again when it repeats a request")
    func bodyAgain() async throws {
        let world = VirtualWorld()
        var options = EventStreamOptions.quick
        options.reconnection = .always
        let recording = Recording(world.stream(Self.post, options: options))
        let first = try #require(await world.nextRequest())
        try await first.respond()
        try await first.bring(.end)
        #expect(await recording.nextError() != nil)
        await world.advance(by: .zero)
        let second = try #require(await world.nextRequest())
        #expect(second.request == first.request)
    }

    @Test("after an incomplete response to a POST, the error contains the last id")
    func postNotRepeated() async throws {
        let world = VirtualWorld()
        let recording = Recording(world.stream(Self.post))
        let exchange = try #require(await world.nextRequest())
        try await exchange.respond()
        try await exchange.send("id: 1\ndata: a\n\n")
        try await exchange.bring(.failed(HTTPRequestError(.failed, "the connection ended")))
        let error = await recording.end()
        #expect(error?.code == .connectionLost)
        #expect(error?.lastEventID == "1")
        await world.advance(by: .seconds(3_600))
        #expect(world.requestCount == 1)
    }

    @Test("with the option for resumable requests, the client repeats a POST only after a usable id of the server")
    func resumable() async throws {
        var options = EventStreamOptions.quick
        options.reconnection = .resumable
        for (text, isRepeated) in [
            ("data: a\n\n", false), ("id: 1\ndata: a\n\n", true), ("id: 1\n\n", true), ("id: \u{1}\n\n", false),
        ] {
            let world = VirtualWorld()
            let recording = Recording(world.stream(Self.post, options: options))
            let exchange = try #require(await world.nextRequest())
            try await exchange.respond()
            try await exchange.send(text)
            try await exchange.bring(.failed(HTTPRequestError(.failed, "the connection ended")))
            #expect(await recording.nextError() != nil)
            await world.advance(by: .seconds(1))
            #expect(world.requestCount == (isRepeated ? 2 : 1), "\(text)")
        }
    }

    @Test("the client drops a silent connection, but an empty comment counts as data")
    func idle() async throws {
        let world = VirtualWorld()
        var options = EventStreamOptions.quick
        options.idleTimeout = .milliseconds(500)
        let recording = Recording(world.stream(options: options))
        let first = try #require(await world.nextRequest())
        try await first.respond()
        #expect(await recording.next() != nil)
        for _ in 1...20 {
            await world.advance(by: .milliseconds(100))
            try await first.send(":\n")
            #expect(await recording.next() == .item(.comment("")))
        }
        #expect(!first.isCancelled)
        await world.advance(by: .milliseconds(500))
        #expect(await recording.nextError()?.code == .idleTimedOut)
        #expect(first.isCancelled)
        await world.advance(by: .zero)
        #expect(await world.nextRequest() != nil)
    }

    @Test("the attempt fails if the server does not respond within the timeout")
    func silent() async throws {
        let world = VirtualWorld()
        let recording = Recording(world.stream())
        let exchange = try #require(await world.nextRequest())
        await world.advance(by: .seconds(60))
        #expect(await recording.nextError()?.code == .responseTimedOut)
        #expect(exchange.isCancelled)
    }

    @Test("the client waits between attempts even if the server always closes at once")
    func noHotLoop() async throws {
        let world = VirtualWorld()
        let recording = Recording(
            world.stream(options: with(EventStreamOptions()) { $0.retryPolicy = .delays([.seconds(1)]) })
        )
        for number in 1...20 {
            let exchange = try #require(await world.nextRequest())
            try await exchange.respond()
            try await exchange.send("retry: 0\n\n")
            try await exchange.bring(.end)
            #expect(await recording.nextError() != nil)
            await world.advance(by: .milliseconds(999))
            #expect(world.requestCount == number)
            await world.advance(by: .milliseconds(1))
        }
    }

    /// A policy that records the number of each retry, and never stops.
    private struct Counting: RetryPolicy {
        let counts: Log<Int>
        func delay(for context: RetryContext) -> Duration? {
            counts.append(context.retryCount)
            return .zero
        }
    }

    @Test("the number of tries rises over responses without events after a response with events")
    func risingCount() async throws {
        let world = VirtualWorld()
        let counts = Log<Int>()
        let options = with(EventStreamOptions()) {
            $0.reconnectionTime = .zero; $0.retryPolicy = Counting(counts: counts)
        }
        let recording = Recording(world.stream(options: options))
        for text in ["data: a\n\n", "", ":\n\n", "id: 1\n\n"] {
            let exchange = try #require(await world.nextRequest())
            try await exchange.respond()
            if !text.isEmpty { try await exchange.send(text) }
            try await exchange.bring(.end)
            #expect(await recording.nextError() != nil)
            await world.advance(by: .zero)
        }
        #expect(counts.elements == [0, 1, 2, 3])
    }

    @Test("a limit of attempts limits the repetitions of a POST, even if each response has events")
    func limitedPosts() async throws {
        let world = VirtualWorld()
        var options = with(EventStreamOptions()) {
            $0.reconnectionTime = .zero; $0.retryPolicy = .atMost(1, .delays([.zero]))
        }
        options.reconnection = .always
        let recording = Recording(world.stream(Self.post, options: options))
        for attempt in 1...2 {
            let exchange = try #require(await world.nextRequest())
            try await exchange.respond()
            try await exchange.send("data: a\n\n")
            try await exchange.bring(.end)
            if attempt == 1 { #expect(await recording.nextError() != nil) }
            await world.advance(by: .zero)
        }
        #expect(await recording.end()?.code == .connectionLost)
        #expect(world.requestCount == 2)
    }

    @Test("the client repeats a POST to a language model until the response has begun, and not afterwards")
    func untilResponse() async throws {
        let world = VirtualWorld()
        let options = with(EventStreamOptions()) {
            $0.reconnection = .untilResponse; $0.reconnectionTime = .zero; $0.retryPolicy = .delays([.zero])
        }
        let recording = Recording(world.stream(Self.post, options: options))
        for status in [408, 429, 500, 502, 503, 504, 529] {
            let exchange = try #require(await world.nextRequest())
            try await exchange.respond(status, ["Retry-After": "20"])
            try await exchange.bring(.end)
            #expect(await recording.nextError()?.httpStatus == status)
            let count = world.requestCount
            await world.advance(by: .milliseconds(19_999))
            #expect(world.requestCount == count)
            await world.advance(by: .milliseconds(1))
        }
        let exchange = try #require(await world.nextRequest())
        try await exchange.respond()
        try await exchange.send("data: a\n\n")
        try await exchange.bring(.failed(HTTPRequestError(.failed, "the connection ended")))
        #expect(await recording.end()?.code == .connectionLost)
        await world.advance(by: .seconds(3_600))
        #expect(world.requestCount == 8)
    }

    @Test("the client waits for at least the time in Retry-After")
    func retryAfter() async throws {
        let world = VirtualWorld()
        let recording = Recording(world.stream(options: .quick))
        let exchange = try #require(await world.nextRequest())
        try await exchange.respond(503, ["Retry-After": "30"])
        try await exchange.send("busy")
        try await exchange.bring(.end)
        let error = await recording.nextError()
        #expect(error?.httpStatus == 503)
        #expect(error?.bodyText == "busy")
        await world.advance(by: .milliseconds(29_999))
        #expect(world.requestCount == 1)
        await world.advance(by: .milliseconds(1))
        #expect(world.requestCount == 2)
    }

    @Test("the client calls the closure before each attempt, and once more for new credentials")
    func requests() async throws {
        let world = VirtualWorld()
        let attempts = Log<EventStreamAttempt>()
        let stream = EventStream(options: .quick, connector: world.connector) { attempt in
            attempts.append(attempt)
            return EventStreamRequest(
                "http://example.com",
                headers: ["Authorization": "Bearer \(attempt.number)"]
            )
        }
        let recording = Recording(stream)
        let first = try #require(await world.nextRequest())
        try await first.respond(401, [:])
        let second = try #require(await world.nextRequest())
        #expect(second.request.headers["Authorization"] == "Bearer 2")
        try await second.respond()
        try await second.send("id: 7\ndata: x\n\n")
        try await second.bring(.end)
        #expect(await recording.nextError() != nil)
        await world.advance(by: .zero)
        let third = try #require(await world.nextRequest())
        #expect(third.request.headers["Last-Event-ID"] == "7")
        #expect(
            attempts.elements == [
                EventStreamAttempt(number: 1, reason: .initial), EventStreamAttempt(number: 2, reason: .unauthorized),
                EventStreamAttempt(number: 3, reason: .reconnect, lastEventID: "7"),
            ]
        )
        // The server accepted the last request, so the client may request new credentials again.
        try await third.respond(401, [:])
        let fourth = try #require(await world.nextRequest())
        try await fourth.respond(401, [:])
        try await fourth.bring(.end)
        #expect(await recording.end()?.httpStatus == 401)
    }

    @Test("restart drops the connection without an error, and connects at once")
    func restart() async throws {
        let world = VirtualWorld()
        let recording = Recording(world.stream())
        let first = try #require(await world.nextRequest())
        try await first.respond()
        try await first.send("id: 1\ndata: a\n\n")
        #expect(await recording.nextEvent() != nil)
        recording.stream.restart()
        let second = try #require(await world.nextRequest())
        #expect(first.isCancelled)
        #expect(second.request.headers["Last-Event-ID"] == "1")
        try await second.respond()
        guard case .item(.opened)? = await recording.next() else {
            Issue.record("something else than the next connection")
            return
        }
    }

    @Test("after a suspension, the client notices a lost connection and the end of a wait within seconds")
    func suspension() async throws {
        let world = VirtualWorld()
        let recording = Recording(
            world.stream(options: with(EventStreamOptions()) { $0.retryPolicy = .delays([.seconds(600)]) })
        )
        try await #require(await world.nextRequest()).respond()
        await world.settle()
        world.suspend(for: .seconds(300))
        await world.advance(by: .seconds(5))
        #expect(await recording.nextError()?.code == .idleTimedOut)
        await world.advance(by: .seconds(300))
        #expect(world.requestCount == 1)
        world.suspend(for: .seconds(300))
        await world.advance(by: .seconds(5))
        #expect(world.requestCount == 2)
    }

    @Test("data that waited during a suspension is delivered, and does not keep the connection")
    func suspensionWithData() async throws {
        let world = VirtualWorld()
        let recording = Recording(world.stream(options: Self.fixed))
        let exchange = try #require(await world.nextRequest())
        try await exchange.respond()
        world.suspend(for: .seconds(3_600))
        try await exchange.send("data: a\n\n")
        #expect(await recording.nextEvent() == ServerSentEvent(data: "a"))
        await world.advance(by: .seconds(5))
        #expect(await recording.nextError()?.code == .idleTimedOut)
        #expect(exchange.isCancelled)
    }

    @Test("the idle timeout does not run while the client has paused reading for a slow app")
    func backPressure() async throws {
        let world = VirtualWorld()
        let stream = world.stream(options: with(EventStreamOptions()) { $0.receiveBufferSize = 1_000 })
        var events = stream.events.makeAsyncIterator()
        let (exchanges, continuation) = AsyncStream.makeStream(of: VirtualExchange.self)
        let server = Task {
            guard let exchange = await world.nextRequest() else { return }
            try await exchange.respond()
            try await exchange.send("data: first\n\n")
            continuation.yield(exchange)
        }
        #expect(try await events.next()?.data == "first")
        try await server.value
        let exchange = try #require(await exchanges.first { _ in true })
        try await exchange.send("data: \(String(repeating: "x", count: 500))\n\n")
        #expect(exchange.isReading)
        try await exchange.send("data: \(String(repeating: "y", count: 500))\n\n")
        #expect(!exchange.isReading)
        await world.advance(by: .seconds(1_000))
        #expect(!exchange.isCancelled)
        #expect(try await events.next()?.data.count == 500)
        await world.settle()
        #expect(exchange.isReading)
        #expect(try await events.next()?.data.first == "y")
    }

    @Test("the state has the time of the next attempt")
    func instant() async throws {
        let world = VirtualWorld()
        let options = with(EventStreamOptions()) {
            $0.reconnectionTime = .seconds(5); $0.retryPolicy = .delays([.seconds(1)])
        }
        let recording = Recording(world.stream(options: options))
        let exchange = try #require(await world.nextRequest())
        #expect(recording.stream.state.remaining(at: world.now) == nil)
        try await exchange.respond()
        try await exchange.bring(.end)
        #expect(await recording.nextError() != nil)
        let lost = world.now
        guard case .waiting(let until, 2, _) = recording.stream.state else {
            Issue.record("\(recording.stream.state)")
            return
        }
        #expect(until == lost + .seconds(5))
        await world.advance(by: .seconds(2))
        #expect(recording.stream.state.remaining(at: world.now) == .seconds(3))
        #expect(recording.stream.state.remaining(at: world.now + .seconds(4)) == .zero)
        await world.advance(by: .seconds(3))
        #expect(await world.nextRequest() != nil)
    }

    @Test("statistics count attempts, connections, losses, bytes and events")
    func statistics() async throws {
        let world = VirtualWorld()
        let recording = Recording(world.stream(options: .quick))
        let first = try #require(await world.nextRequest())
        try await first.respond()
        try await first.send("data: a\n\ndata: b\n\n")
        try await first.bring(.end)
        #expect(await recording.nextError() != nil)
        await world.advance(by: .zero)
        let second = try #require(await world.nextRequest())
        try await second.respond(204, [:])
        #expect(await recording.end() == nil)
        var expected = EventStreamStatistics()
        (expected.attempts, expected.connections, expected.losses) = (2, 1, [.connectionLost: 1])
        (expected.bytes, expected.events) = (18, 2)
        #expect(recording.stream.statistics == expected)
    }
}
