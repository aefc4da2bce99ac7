import NIOConcurrencyHelpers
import NIOCore
import PusherClient
import PusherProtocol
import PusherTestServer
import TestSupport

/// The network between the client and the server, with latency, losses, and bytes that are split anywhere.
final class SimulatedNetwork: Sendable {
    /// How messages arrive.
    struct Conditions: Hashable, Sendable {
        /// The range of the latency in milliseconds. Latencies are multiples of ten, so many messages arrive together.
        var latency = 0...0
        /// The maximum size of a piece, in bytes; nil for whole frames.
        var pieceSize: Int?
        /// The maximum number of frames for a message.
        var fragments = 1
        /// The time for which the system does not accept the client's messages.
        var writeDelay = TimeAmount.zero
    }

    fileprivate struct State: Sendable {
        var conditions = Conditions()
        var generator: SeededGenerator
        /// The outcomes of the next attempts. Later attempts succeed.
        var outcomes: [ConnectOutcome] = []
        /// The fault of new WebSockets; nil if the network allows WebSockets.
        var upgradeFault: PusherTestRelay.UpgradeFault?
        var connections: [WatchedConnection] = []
        var links: [any SimulatedLink] = []
        var openCount = 0
        var failsRequests = false
        /// Whether the server may lose or delay requests of HTTP transports.
        var hasBadRequests = false
        /// Whether the network loses everything that the client sends.
        var hasDeafServer = false
        /// The number of the current client. Connections of the previous client may still be open.
        var client = 0
    }

    let loop: SimulatedEventLoop
    let server: InMemoryServer
    let observer: WireLedger
    private let state: NIOLockedValueBox<State>

    init(loop: SimulatedEventLoop, server: InMemoryServer, observer: WireLedger, seed: UInt64) {
        self.loop = loop
        self.server = server
        self.observer = observer
        state = NIOLockedValueBox(State(generator: SeededGenerator(seed: seed)))
    }

    // MARK: Connecting

    fileprivate func open(
        _ request: TransportRequest,
        by client: Int,
        over transport: any Transport,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> WatchedConnection {
        let connection = WatchedConnection(client: client, observer: observer, on: eventLoop, receive: receive)
        state.withLockedValue { state in
            state.openCount += 1
            state.connections.removeAll { $0.isEnded }
            state.connections.append(connection)
            if state.hasDeafServer || state.hasBadRequests { connection.setInconsistent() }
        }
        observer.opened(connection)
        connection.start(transport.open(request, on: eventLoop) { connection.received($0) })
        return connection
    }

    fileprivate func openWebSocket(
        _ request: TransportRequest,
        by client: Int,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> SimulatedWebSocket {
        let webSocket = SimulatedWebSocket(
            client: client,
            network: self,
            connection: connection(of: client),
            receive: receive
        )
        let (outcome, upgradeFault) = state.withLockedValue { ($0.takeOutcome(), $0.upgradeFault) }
        add(webSocket)
        switch (outcome, upgradeFault) {
        case (nil, nil): connect(webSocket, request, after: .zero)
        case (nil, .answered(let status)?), (.rejected(let status)?, _):
            webSocket.fail(after: .milliseconds(20), PusherClientError(.upgradeFailed, "HTTP \(status)"))
        case (nil, .reset?): webSocket.fail(after: .milliseconds(20), PusherClientError(.connectionClosed, "reset"))
        case (nil, .swallowed?), (.silent?, _): webSocket.lose(toClient: true, toServer: true)
        case (.slow(let milliseconds)?, _): connect(webSocket, request, after: .milliseconds(milliseconds))
        case (.refused?, _): webSocket.fail(after: .milliseconds(10), PusherClientError(.connectionFailed, "refused"))
        case (.unresolvable?, _):
            webSocket.fail(after: .milliseconds(20), PusherClientError(.nameResolutionFailed, "no such host"))
        case (.untrusted?, _): webSocket.fail(after: .milliseconds(30), PusherClientError(.tlsFailed, "not trusted"))
        }
        return webSocket
    }

    func makeSession(of client: Int) -> (SimulatedSession, HTTPSessionName) {
        let (outcome, name) = state.withLockedValue { ($0.takeOutcome(), HTTPSessionName(using: &$0.generator)) }
        let session = SimulatedSession(
            client: client,
            network: self,
            connection: connection(of: client),
            outcome: outcome
        )
        add(session)
        return (session, name)
    }

    private func add(_ link: any SimulatedLink) {
        state.withLockedValue { state in
            state.links.removeAll { $0.isEnded && !$0.isSilent }
            state.links.append(link)
        }
    }

    private func connect(_ connection: SimulatedWebSocket, _ request: TransportRequest, after delay: Duration) {
        let message = PusherTestServer.Request(
            target: request.path,
            headers: HTTPHeaderFields(request.headers.map { HTTPHeader(name: $0.name, value: $0.value) })
        )
        let latency = TimeAmount(delay) + nextLatency()
        loop.scheduleTask(in: latency) { [loop, server] in
            guard !connection.isEnded, !connection.isClosing else { return }
            connection.connect(server.open(message, on: loop) { connection.received($0) })
        }
    }

    // MARK: Chance

    func nextLatency() -> TimeAmount {
        state.withLockedValue { state in
            let range = state.conditions.latency
            guard range.upperBound > 0 else { return .zero }
            return .milliseconds(Int64(Int.random(in: range, using: &state.generator) / 10 * 10))
        }
    }

    func nextFragments() -> Int {
        state.withLockedValue { state in
            state.conditions.fragments > 1 ? Int.random(in: 1...state.conditions.fragments, using: &state.generator) : 1
        }
    }

    func cut(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        state.withLockedValue { state in
            guard let size = state.conditions.pieceSize else { return [bytes[...]] }
            var pieces: [ArraySlice<UInt8>] = []
            var start = 0
            while start < bytes.count {
                let end = min(bytes.count, start + Int.random(in: 1...max(1, size), using: &state.generator))
                pieces.append(bytes[start..<end])
                start = end
            }
            return pieces
        }
    }

    // MARK: Faults

    var conditions: Conditions {
        get { state.withLockedValue { $0.conditions } }
        set { state.withLockedValue { $0.conditions = newValue } }
    }

    /// Sets the outcome of the next attempts.
    func expect(_ outcome: ConnectOutcome, count: Int) {
        state.withLockedValue { $0.outcomes += Array(repeating: outcome, count: count) }
    }

    var failsRequests: Bool {
        get { state.withLockedValue { $0.failsRequests } }
        set { state.withLockedValue { $0.failsRequests = newValue } }
    }

    /// Sets whether the network loses everything that the client sends.
    func setServerDeaf(_ isDeaf: Bool) {
        state.withLockedValue { $0.hasDeafServer = isDeaf }
        if isDeaf { current?.setInconsistent() }
    }

    /// Sets whether the server may lose requests of HTTP transports, or hold back answers.
    func setBadRequests(_ areBad: Bool) {
        state.withLockedValue { $0.hasBadRequests = areBad }
        if areBad { current?.setInconsistent() }
    }

    /// Blocks new WebSockets with a fault, or allows them if the fault is nil.
    func blockUpgrades(with fault: PusherTestRelay.UpgradeFault?) {
        state.withLockedValue { $0.upgradeFault = fault }
    }

    /// The client's last connection, if it is open or being opened.
    var current: WatchedConnection? { connection(of: state.withLockedValue { $0.client }) }

    private func connection(of client: Int) -> WatchedConnection? {
        state.withLockedValue { state in
            state.connections.last { $0.client == client }.flatMap { $0.isEnded ? nil : $0 }
        }
    }

    /// The links of the client's connection. There can be several while the client chooses the transport.
    var currentLinks: [any SimulatedLink] {
        state.withLockedValue { state in state.links.filter { $0.client == state.client && !$0.isEnded } }
    }

    /// Whether the client's connection is open, and nothing is in transit in either direction.
    var isQuiet: Bool {
        let links = currentLinks
        return current?.isUsable == true && links.count == 1 && links.allSatisfy { $0.isQuiet }
    }

    /// Returns the transport of a new client, which replaces the previous client.
    func makeTransport(_ settings: Settings) -> SimulatedTransport {
        let client = state.withLockedValue { state in
            state.client += 1
            return state.client
        }
        let limits = HTTPTransport.Limits(streamLength: settings.streamLength)
        let options = settings.transports.list.elements.map { kind -> TransportChooser.Option in
            switch kind {
            case .webSocket: .init(kind, SimulatedWebSocketTransport(network: self, client: client))
            case .httpStreaming:
                .init(kind, SimulatedHTTPTransport(mode: .streaming, limits: limits, network: self, client: client))
            case .httpPolling:
                .init(kind, SimulatedHTTPTransport(mode: .polling, limits: limits, network: self, client: client))
            }
        }
        let attemptTimeout = PusherTimeouts().connectionAttempt
        let transport =
            options.count == 1 ? options[0].transport : TransportChooser(options, attemptTimeout: attemptTimeout)
        return SimulatedTransport(network: self, client: client, transport: transport)
    }

    var openCount: Int { state.withLockedValue { $0.openCount } }

    /// Removes all connections, because they retain the network.
    func dismantle() {
        heal()
        let old = state.withLockedValue { state in
            defer { (state.connections, state.links) = ([], []) }
            return (state.connections, state.links)
        }
        withExtendedLifetime(old) {}
    }

    /// Ends all faults of the network. Silent connections stay silent.
    func heal() {
        let links = state.withLockedValue { state in
            state.conditions = Conditions()
            state.outcomes = []
            state.upgradeFault = nil
            state.failsRequests = false
            return state.links
        }
        for link in links { link.tellServerOfEnd() }
    }
}

extension SimulatedNetwork.State {
    fileprivate mutating func takeOutcome() -> ConnectOutcome? { outcomes.isEmpty ? nil : outcomes.removeFirst() }
}

/// The transport of one client through the network.
struct SimulatedTransport: Transport {
    let network: SimulatedNetwork
    let client: Int
    let transport: any Transport

    func open(
        _ request: TransportRequest,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportConnection {
        network.open(request, by: client, over: transport, on: eventLoop, receive: receive)
    }
}

/// A transport with WebSockets over the simulated network.
private struct SimulatedWebSocketTransport: Transport {
    let network: SimulatedNetwork
    let client: Int

    func open(
        _ request: TransportRequest,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportConnection {
        network.openWebSocket(request, by: client, receive: receive)
    }
}
