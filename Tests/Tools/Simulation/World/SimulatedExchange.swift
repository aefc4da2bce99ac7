import NIOConcurrencyHelpers
import NIOCore
import PusherClient
import PusherProtocol
import PusherTestServer
import RealtimeHTTP

/// An HTTP request and its response, on a separate TCP connection.
final class SimulatedExchange: HTTPStream {
    private struct State: Sendable {
        var exchange: InMemoryExchange?
        /// The parts of the response in transit to the client, with their times of arrival.
        var arriving: [(due: NIODeadline, event: HTTPStreamEvent)] = []
        var lastArrival = NIODeadline.uptimeNanoseconds(0)
        var lastDeparture = NIODeadline.uptimeNanoseconds(0)
        var isReading = true
        /// Whether a piece has arrived while reading is paused. As on a socket, one piece may still arrive then.
        var hasSurplus = false
        /// The client's callback; nil once the client gets nothing more.
        var receive: (@Sendable (HTTPStreamEvent) -> Void)?
        var isEnded = false
        /// The beginning of an incomplete line that the server has written.
        var line: [UInt8] = []
    }

    let number: Int
    let startTime: NIODeadline
    private let session: SimulatedSession
    private let kind = NIOLockedValueBox(Kind.receiving)
    private let state = NIOLockedValueBox(State())

    private enum Kind: Sendable {
        case receiving
        case sending([String])
    }

    /// - Parameter number: The number of the request in its session.
    init(_ number: Int, of session: SimulatedSession, receive: @escaping @Sendable (HTTPStreamEvent) -> Void) {
        self.number = number
        self.session = session
        startTime = session.network.loop.now
        state.withLockedValue { $0.receive = receive }
    }

    private var network: SimulatedNetwork { session.network }
    private var loop: SimulatedEventLoop { session.network.loop }

    var isReceiving: Bool { if case .receiving = kind.withLockedValue({ $0 }) { true } else { false } }

    /// Whether the exchange has ended for the client.
    var isEnded: Bool { state.withLockedValue { $0.isEnded } }

    /// Whether a part of the response's body is in transit.
    var hasBodyUnderWay: Bool {
        state.withLockedValue { state in
            state.arriving.contains { if case .body = $0.event { true } else { false } }
        }
    }

    /// Whether the server has the request, and no part of the response is in transit.
    var isQuiet: Bool {
        let now = loop.now
        return state.withLockedValue { state in
            state.exchange != nil && !state.isEnded && state.arriving.isEmpty && state.lastDeparture < now
        }
    }

    // MARK: The client

    func start(_ request: InMemoryRequest, _ outcome: ConnectOutcome?) {
        if request.target.contains("/xhr_send?") {
            let messages = JSONValue(parsing: String(buffer: request.body))?.array ?? []
            kind.withLockedValue { $0 = .sending(messages.compactMap(\.string)) }
        }
        switch outcome {
        case nil, .silent: take(request, after: network.conditions.writeDelay)
        case .slow(let milliseconds): take(request, after: .milliseconds(Int64(milliseconds)))
        case .refused: fail(after: .milliseconds(10), "refused")
        case .unresolvable: fail(after: .milliseconds(20), "no such host")
        case .untrusted: fail(after: .milliseconds(30), "not trusted")
        case .rejected(let status):
            arrive(.head(HTTPResponse(status: status)), after: .milliseconds(20))
            arrive(.end, after: .zero)
        }
    }

    /// Passes the request to the operating system after a delay.
    private func take(_ request: InMemoryRequest, after delay: TimeAmount) {
        guard delay > .zero else { return take(request) }
        loop.scheduleTask(in: delay) { self.take(request) }
    }

    private func take(_ request: InMemoryRequest) {
        guard !state.withLockedValue({ $0.isEnded }) else { return }
        network.observer.note("HTTP \(request.target.prefix { $0 != "?" })")
        if case .sending(let messages) = kind.withLockedValue({ $0 }) { session.sent(messages) }
        depart { self.begin(request) }
    }

    func setReading(_ isReading: Bool) {
        state.withLockedValue { state in
            state.isReading = isReading
            state.hasSurplus = false
        }
        if isReading { loop.execute(isClient: true) { self.read() } }
    }

    func cancel() {
        end()
        leave()
    }

    /// Closes the exchange on the client's side. The callback is released outside the lock.
    private func end() {
        let receive = state.withLockedValue { state in
            state.isEnded = true
            state.arriving = []
            defer { state.receive = nil }
            return state.receive
        }
        withExtendedLifetime(receive) {}
    }

    /// Reports the close to the server, unless the network loses the report.
    private func leave() {
        depart { self.tellServerOfEnd() }
        // Even if the report is lost, a server notices a silent client after a while.
        if session.losesToServer { loop.scheduleTask(in: .seconds(20)) { self.tellServerOfEnd() } }
    }

    // MARK: The network

    func cut(clientHearsAfter delay: Duration) {
        fail(after: TimeAmount(delay), "cut")
        depart { self.abort() }
    }

    func tellServerOfEnd() {
        guard state.withLockedValue({ $0.isEnded }) else { return }
        abort()
    }

    private func abort() {
        state.withLockedValue { $0.exchange }?.abort()
        if state.withLockedValue({ $0.isEnded }) { remove() }
    }

    /// Removes the references between the two sides.
    private func remove() {
        let exchange = state.withLockedValue { state in
            defer { state.exchange = nil }
            return state.exchange
        }
        withExtendedLifetime(exchange) {}
        session.remove(self)
    }

    private func depart(_ body: @escaping @Sendable () -> Void) {
        let latency = network.nextLatency()
        let due = state.withLockedValue { state in
            state.lastDeparture = max(state.lastDeparture, loop.now + latency)
            return state.lastDeparture
        }
        guard !session.losesToServer else { return }
        loop.scheduleTask(deadline: due, body)
    }

    private func begin(_ request: InMemoryRequest) {
        if !isReceiving { session.arrived(number) }
        let exchange = network.server.request(request, on: loop) { self.received($0) }
        state.withLockedValue { $0.exchange = exchange }
    }

    // MARK: The server

    private func received(_ event: InMemoryResponseEvent) {
        switch event {
        case .head(let status, let headers):
            var response = HTTPResponse(status: status)
            for header in headers { response.headers.append(header.name, header.value) }
            arrive(.head(response))
        case .body(let bytes):
            let bytes = Array(bytes.readableBytesView)
            if isReceiving { noteLines(bytes) }
            for piece in network.cut(bytes) { arrive(.body(ByteBuffer(bytes: piece))) }
        case .end: arrive(.end)
        case .failed(let reason): arrive(.failed(HTTPRequestError(.failed, reason)))
        }
    }

    private func noteLines(_ bytes: [UInt8]) {
        let lines = state.withLockedValue { state in
            state.line += bytes
            var lines = state.line.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            state.line = Array(lines.removeLast())
            return lines.map { Array($0) }
        }
        for line in lines { session.said(line) }
    }

    // MARK: To the client

    private func fail(after delay: TimeAmount, _ reason: String) {
        arrive(.failed(HTTPRequestError(.failed, reason)), after: delay)
    }

    private func arrive(_ event: HTTPStreamEvent, after delay: TimeAmount? = nil) {
        guard !session.losesToClient else { return }
        let latency = delay ?? network.nextLatency()
        let due = state.withLockedValue { state in
            state.lastArrival = max(state.lastArrival, loop.now + latency)
            state.arriving.append((state.lastArrival, event))
            return state.lastArrival
        }
        loop.scheduleTask(deadline: due) { self.read() }
    }

    private func read() {
        // While the client sleeps, data waits in the operating system.
        if loop.isAsleep { return loop.execute(isClient: true) { self.read() } }
        while let (receive, event) = next() {
            switch event {
            case .head: noteOvertaking()
            case .body: break
            case .end:
                if case .sending(let messages) = kind.withLockedValue({ $0 }), !messages.isEmpty {
                    session.requestTook(loop.now - startTime)
                }
                end()
                remove()
            case .failed:
                end()
                leave()
            }
            receive(event)
        }
    }

    private func noteOvertaking() {
        guard isReceiving, session.hasStreamUnderWay(before: number) else { return }
        network.observer.note("HTTP response \(number) overtakes the end of another one")
    }

    private func next() -> (@Sendable (HTTPStreamEvent) -> Void, HTTPStreamEvent)? {
        let now = loop.now
        let losesToClient = session.losesToClient
        return state.withLockedValue { state in
            guard let receive = state.receive, let (due, event) = state.arriving.first, due <= now, !losesToClient
            else { return nil }
            switch event {
            case .head, .failed: break
            case .body where state.isReading: break
            case .body:
                guard !state.hasSurplus else { return nil }
                state.hasSurplus = true
            case .end: guard state.isReading || !state.hasSurplus else { return nil }
            }
            state.arriving.removeFirst()
            return (receive, event)
        }
    }
}
