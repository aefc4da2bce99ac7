import NIOConcurrencyHelpers
import NIOCore
package import NIOEmbedded
package import RealtimeHTTP
package import ServerSentEvents

/// Streams in virtual time, with the responses of the test.
package final class VirtualWorld: Sendable {
    package let eventLoop = NIOAsyncTestingEventLoop()
    private let network = VirtualNetwork()
    private let origin = ContinuousClock.now
    private let suspended = NIOLockedValueBox(Duration.zero)

    package init() {}

    package func stream(
        _ request: EventStreamRequest = EventStreamRequest("http://example.com/feed"),
        options: EventStreamOptions = EventStreamOptions()
    ) -> EventStream {
        EventStream(request, options: options, connector: connector)
    }

    package var connector: EventStreamConnector {
        EventStreamConnector(network, eventLoopGroup: eventLoop) { [self] in now }
    }

    package var now: ContinuousClock.Instant {
        origin + .nanoseconds(Int64(eventLoop.now.uptimeNanoseconds)) + suspended.withLockedValue { $0 }
    }

    /// Suspends the machine. The clock continues, and the timers of the event loop stop.
    package func suspend(for duration: Duration) { suspended.withLockedValue { $0 += duration } }

    /// Returns the next request that the client sends.
    package func nextRequest() async -> VirtualExchange? { await network.exchanges.first { _ in true } }

    /// The number of requests that the client has sent.
    package var requestCount: Int { network.count.withLockedValue { $0 } }

    package func advance(by duration: Duration) async {
        await eventLoop.advanceTime(by: TimeAmount(clamping: duration))
    }

    /// Runs the pending work of the loop.
    package func settle() async { await eventLoop.run() }
}

private final class VirtualNetwork: HTTPStreamer {
    let exchanges: AsyncStream<VirtualExchange>
    let count = NIOLockedValueBox(0)
    private let continuation: AsyncStream<VirtualExchange>.Continuation

    init() { (exchanges, continuation) = AsyncStream.makeStream(of: VirtualExchange.self) }

    func stream(
        _ request: HTTPRequest,
        redirects: HTTPStreamRedirects,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (HTTPStreamEvent) -> Void
    ) -> any HTTPStream {
        let exchange = VirtualExchange(request, on: eventLoop, receive)
        count.withLockedValue { $0 += 1 }
        eventLoop.execute { [continuation] in continuation.yield(exchange) }
        return exchange
    }
}

/// A request that the client has sent, and the response to it.
package final class VirtualExchange: HTTPStream {
    package let request: HTTPRequest
    private let eventLoop: any EventLoop
    /// The handler is nil after the client has cancelled the request.
    private let handler: NIOLockedValueBox<Handler?>
    private let isReadingBox = NIOLockedValueBox(true)
    private let cancellations: AsyncStream<Void>
    private let cancellation: AsyncStream<Void>.Continuation

    // A bare function in a generic box would get another wrapper at each read.
    private struct Handler: Sendable {
        let receive: @Sendable (HTTPStreamEvent) -> Void
    }

    init(_ request: HTTPRequest, on eventLoop: any EventLoop, _ receive: @escaping @Sendable (HTTPStreamEvent) -> Void)
    {
        self.request = request
        self.eventLoop = eventLoop
        handler = NIOLockedValueBox(Handler(receive: receive))
        (cancellations, cancellation) = AsyncStream.makeStream(of: Void.self)
    }

    package var isCancelled: Bool { handler.withLockedValue { $0 == nil } }
    package var isReading: Bool { isReadingBox.withLockedValue { $0 } }

    /// Waits until the client has cancelled the request.
    package func cancelled() async { await cancellations.first { _ in true } }

    package func setReading(_ isReading: Bool) { isReadingBox.withLockedValue { $0 = isReading } }

    package func cancel() {
        handler.withLockedValue { $0 = nil }
        cancellation.yield()
    }

    package func respond(_ status: Int = 200, _ headers: HTTPFields = ["Content-Type": "text/event-stream"])
        async throws
    {
        try await bring(.head(HTTPResponse(status: status, headers: headers)))
    }

    package func send(_ text: String) async throws { try await bring(.body(ByteBuffer(string: text))) }

    /// Delivers an event. After the client has cancelled the request, nothing arrives, as with a real connection.
    package func bring(_ event: HTTPStreamEvent) async throws {
        try await eventLoop.submit { [self] in
            handler.withLockedValue { $0 }?.receive(event)
        }.get()
    }
}
