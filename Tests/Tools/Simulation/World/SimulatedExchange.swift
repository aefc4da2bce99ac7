import NIOConcurrencyHelpers
import NIOCore
import PusherClient
import PusherProtocol
import PusherTestServer
import RealtimeHTTP

/// An HTTP request and its response, on a TCP connection of their own.
final class SimulatedExchange: HTTPStream {
    private struct State: Sendable {
        var exchange: InMemoryExchange?
        /// The response on its way to the client, with the time at which it arrives.
        var arriving: [(due: NIODeadline, event: HTTPStreamEvent)] = []
        var lastArrival = NIODeadline.uptimeNanoseconds(0)
        var lastDeparture = NIODeadline.uptimeNanoseconds(0)
        var isReading = true
        /// Whether a piece has come since the client does not read: one still does, as on a socket.
        var hasSurplus = false
        /// What the client is called with; nil once it gets nothing more.
        var receive: (@Sendable (HTTPStreamEvent) -> Void)?
        var isEnded = false
        /// What the server has written of a line that is not complete.
        var line: [UInt8] = []
    }

    private let number: Int
    private let session: SimulatedSession
    private let kind = NIOLockedValueBox(Kind.receiving)
    private let state = NIOLockedValueBox(State())

    private enum Kind: Sendable {
        case receiving
        case sending([String])
    }

    /// - Parameter number: Counts the requests of a session.
    init(_ number: Int, of session: SimulatedSession, receive: @escaping @Sendable (HTTPStreamEvent) -> Void) {
        self.number = number
        self.session = session
        state.withLockedValue { $0.receive = receive }
    }

    private var network: SimulatedNetwork { session.network }
    private var loop: SimulatedEventLoop { session.network.loop }

    var isReceiving: Bool { if case .receiving = kind.withLockedValue({ $0 }) { true } else { false } }

    /// Whether the server has the request, and nothing of the response is on its way.
    var isQuiet: Bool {
        let now = loop.now
        return state.withLockedValue { state in
            state.exchange != nil && !state.isEnded && state.arriving.isEmpty && state.lastDeparture < now
        }
    }

    // MARK: What the client does

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

    /// The operating system takes the request.
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

    /// What the client is called with is released outside the lock.
    private func end() {
        let receive = state.withLockedValue { state in
            state.isEnded = true
            state.arriving = []
            defer { state.receive = nil }
            return state.receive
        }
        withExtendedLifetime(receive) {}
    }

    /// The server hears of the end, if it hears anything.
    private func leave() {
        depart { self.tellServerOfEnd() }
        // A server notices by itself that a client is silent for good.
        if session.losesToServer { loop.scheduleTask(in: .seconds(20)) { self.tellServerOfEnd() } }
    }

    // MARK: What the network does

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

    /// The two sides, which know each other, part.
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

    // MARK: What the server does

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
        // What comes while the client sleeps waits for it in the operating system.
        if loop.isAsleep { return loop.execute(isClient: true) { self.read() } }
        while let (receive, event) = next() {
            switch event {
            case .head, .body: break
            case .end:
                end()
                remove()
            case .failed:
                end()
                leave()
            }
            receive(event)
        }
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
