import NIOConcurrencyHelpers
import NIOCore
import RealtimeHTTP

/// A streamer that keeps the requests of HTTP transports. The test answers them on the event loop.
final class ScriptedStreamer: HTTPStreamer {
    final class Exchange: HTTPStream {
        private struct State {
            /// The client's receiver; nil after the end of the request.
            var receive: (@Sendable (HTTPStreamEvent) -> Void)?
            var isReading = true
            var isCancelled = false
            /// The events that wait because the client does not read.
            var unread = CircularBuffer<HTTPStreamEvent>()

            mutating func next() -> HTTPStreamEvent? { isReading && !isCancelled ? unread.popFirst() : nil }

            /// Returns the receiver, and releases it with the last event.
            mutating func receiver(of event: HTTPStreamEvent) -> (@Sendable (HTTPStreamEvent) -> Void)? {
                defer {
                    switch event {
                    case .end, .failed: receive = nil
                    case .head, .body: break
                    }
                }
                return receive
            }
        }

        let request: HTTPRequest
        private let eventLoop: any EventLoop
        private let state: NIOLockedValueBox<State>

        init(
            _ request: HTTPRequest,
            on eventLoop: any EventLoop,
            _ receive: @escaping @Sendable (HTTPStreamEvent) -> Void
        ) {
            self.request = request
            self.eventLoop = eventLoop
            state = NIOLockedValueBox(State(receive: receive))
        }

        var isReading: Bool { state.withLockedValue { $0.isReading } }
        var isCancelled: Bool { state.withLockedValue { $0.isCancelled } }
        func setReading(_ isReading: Bool) {
            state.withLockedValue { $0.isReading = isReading }
            // Events follow in a later turn of the loop, as from a socket.
            if isReading { eventLoop.execute { self.handOver() } }
        }
        func cancel() {
            state.withLockedValue { state in
                state.isCancelled = true
                state.receive = nil
            }
        }

        /// The last component of the path.
        var verb: String {
            let path = request.url.split(separator: "?")[0]
            return path.split(separator: "/").last.map(String.init) ?? ""
        }

        var body: String { String(decoding: request.body ?? [], as: UTF8.self) }

        func give(_ event: HTTPStreamEvent) {
            switch event {
            case .head, .failed: pass(event)
            case .body, .end:
                state.withLockedValue { $0.unread.append(event) }
                handOver()
            }
        }

        private func handOver() {
            while let event = state.withLockedValue({ $0.next() }) { pass(event) }
        }

        private func pass(_ event: HTTPStreamEvent) { state.withLockedValue { $0.receiver(of: event) }?(event) }

        func head(_ status: Int = 200) { give(.head(HTTPResponse(status: status))) }
        func body(_ text: String) { give(.body(ByteBuffer(string: text))) }
    }

    private let state = NIOLockedValueBox<[Exchange]>([])

    var exchanges: [Exchange] { state.withLockedValue { $0 } }

    func stream(
        _ request: HTTPRequest,
        redirects: HTTPStreamRedirects,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (HTTPStreamEvent) -> Void
    ) -> any HTTPStream {
        let exchange = Exchange(request, on: eventLoop, receive)
        state.withLockedValue { $0.append(exchange) }
        return exchange
    }
}
