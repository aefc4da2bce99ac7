import NIOConcurrencyHelpers
import NIOCore
import PusherClient
import PusherProtocol
import PusherTestServer
import PusherVirtualTime
import RealtimeHTTP

/// A connection over HTTP between client and server. Each request has a separate TCP connection. The network may delay,
/// split or lose the bytes, and requests may overtake each other.
///
/// The server's messages must reach the client completely and in order while the client considers the session open.
final class SimulatedSession: TransportConnection, SimulatedLink {
    private struct State: Sendable {
        var inner: (any TransportConnection)?
        var exchanges: [SimulatedExchange] = []
        var isEnded = false
        var losesToClient = false
        var losesToServer = false
        /// The messages that the server has written, and the client has not received.
        var said: [String] = []
        /// The number of opening frames that the server has sent.
        var openCount = 0
        /// The numbers of the last request that the client has sent, and of the last request that the server has
        /// received.
        var lastRequest = 0
        var lastArrival = 0
    }

    let client: Int
    let network: SimulatedNetwork
    /// The outcome of the first request.
    private let outcome: ConnectOutcome?
    private weak let connection: WatchedConnection?
    private let state = NIOLockedValueBox(State())

    /// - Parameter connection: The client's connection. This session is its transport, or a candidate.
    init(client: Int, network: SimulatedNetwork, connection: WatchedConnection?, outcome: ConnectOutcome?) {
        self.client = client
        self.network = network
        self.connection = connection
        self.outcome = outcome
        if outcome == .silent { lose(toClient: true, toServer: true) }
    }

    func start(_ inner: any TransportConnection) { state.withLockedValue { $0.inner = inner } }

    var isEnded: Bool { state.withLockedValue { $0.isEnded } }
    var losesToClient: Bool { state.withLockedValue { $0.losesToClient } }
    var losesToServer: Bool { state.withLockedValue { $0.losesToServer } }
    var isSilent: Bool { state.withLockedValue { $0.losesToClient || $0.losesToServer } }

    var isQuiet: Bool {
        let (state, exchanges) = state.withLockedValue { ($0, $0.exchanges) }
        return !state.isEnded && !state.losesToClient && !state.losesToServer && state.said.isEmpty
            && exchanges.count == 1 && exchanges.allSatisfy { $0.isReceiving && $0.isQuiet }
    }

    // MARK: The client

    private var inner: (any TransportConnection)? { state.withLockedValue { $0.inner } }

    var report: TransportReport { inner?.report ?? TransportReport(.httpStreaming) }
    var longestPause: Duration { inner?.longestPause ?? .zero }
    func send(_ text: String, promise: EventLoopPromise<Void>?) { inner?.send(text, promise: promise) }
    func flush() { inner?.flush() }
    func setReading(_ isReading: Bool) { inner?.setReading(isReading) }
    func close(code: CloseCode, reason: String) { inner?.close(code: code, reason: reason) }

    func abort() {
        let inner = inner
        end()
        inner?.abort()
    }

    private func end() {
        let inner = state.withLockedValue { state in
            state.isEnded = true
            defer { state.inner = nil }
            return state.inner
        }
        withExtendedLifetime(inner) {}
    }

    /// Checks an event that the transport has read from the responses, and passes the event to the client.
    func received(_ event: TransportEvent, _ receive: (TransportEvent) -> Void) {
        switch event {
        case .text(let bytes): check(bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) })
        case .closed: end()
        case .opened, .retryAfter, .binary, .activity, .readComplete: break
        }
        receive(event)
    }

    private func check(_ text: String) {
        let next = state.withLockedValue { state in state.said.isEmpty ? nil : state.said.removeFirst() }
        network.observer.violations.check(
            text == next,
            "wrong message over HTTP: found \(text), expected \(next ?? "none")"
        )
    }

    // MARK: The network

    func lose(toClient: Bool, toServer: Bool) {
        state.withLockedValue { state in
            state.losesToClient = state.losesToClient || toClient
            state.losesToServer = state.losesToServer || toServer
        }
    }

    func cut(clientHearsAfter delay: Duration) {
        for exchange in state.withLockedValue({ $0.exchanges }) { exchange.cut(clientHearsAfter: delay) }
    }

    func tellServerOfEnd() {
        for exchange in state.withLockedValue({ $0.exchanges }) { exchange.tellServerOfEnd() }
    }

    func remove(_ exchange: SimulatedExchange) {
        state.withLockedValue { state in state.exchanges.removeAll { $0 === exchange } }
    }

    // MARK: Requests and responses

    /// Records the messages of a request as sent.
    func sent(_ messages: [String]) {
        for message in messages { connection?.sent(message) }
    }

    /// Records the time of a request with messages.
    func requestTook(_ time: TimeAmount) {
        if let connection { network.observer.requestTook(time, on: connection) }
    }

    /// Whether a part of a response to an earlier request is in transit.
    func hasStreamUnderWay(before number: Int) -> Bool {
        state.withLockedValue({ $0.exchanges }).contains { exchange in
            exchange.isReceiving && exchange.number < number && exchange.hasBodyUnderWay
        }
    }

    /// The time at which the unanswered request with messages began; nil if there is none.
    var sendingSince: NIODeadline? {
        state.withLockedValue({ $0.exchanges }).first { !$0.isReceiving && !$0.isEnded }?.startTime
    }

    /// Checks the order of a request with messages when the request reaches the server.
    func arrived(_ request: Int) {
        let last = state.withLockedValue { state in
            defer { state.lastArrival = max(state.lastArrival, request) }
            return state.lastArrival
        }
        network.observer.violations.check(request > last, "messages over HTTP reach the server out of order")
    }

    /// Records a line that the server has written.
    func said(_ line: [UInt8]) {
        switch line.first {
        case UInt8(ascii: "o"): state.withLockedValue { $0.openCount += 1 }
        case UInt8(ascii: "a"):
            guard let text = String(validating: line.dropFirst(), as: UTF8.self),
                let messages = JSONValue(parsing: text)?.array
            else { return }
            state.withLockedValue { state in
                // If the server has forgotten the session and opens another one, the messages of that session are not
                // for this client.
                if state.openCount == 1 { state.said += messages.compactMap(\.string) }
            }
        default: break
        }
    }
}

extension SimulatedSession: HTTPStreamer {
    func stream(
        _ request: HTTPRequest,
        redirects: HTTPStreamRedirects,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (HTTPStreamEvent) -> Void
    ) -> any HTTPStream {
        let (exchange, isFirst) = state.withLockedValue { state in
            state.lastRequest += 1
            let exchange = SimulatedExchange(state.lastRequest, of: self, receive: receive)
            state.exchanges.append(exchange)
            return (exchange, state.lastRequest == 1)
        }
        exchange.start(InMemoryRequest(request), isFirst ? outcome : nil)
        return exchange
    }
}

/// An HTTP transport over the simulated network.
struct SimulatedHTTPTransport: Transport {
    let mode: HTTPSessionStateMachine.Mode
    let limits: HTTPTransport.Limits
    let network: SimulatedNetwork
    let client: Int

    func open(
        _ request: TransportRequest,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportConnection {
        let (session, name) = network.makeSession(of: client)
        let transport = HTTPTransport(mode, over: session, limits: limits) { name }
        session.start(transport.open(request, on: eventLoop) { event in session.received(event, receive) })
        return session
    }
}
