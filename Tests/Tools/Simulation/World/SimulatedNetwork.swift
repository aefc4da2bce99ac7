import NIOConcurrencyHelpers
import NIOCore
import PusherClient
import PusherProtocol
import PusherTestServer
import TestSupport

/// The network between the client and the server: latency, losses, and bytes that are split anywhere.
final class SimulatedNetwork: Sendable {
    /// How messages arrive.
    struct Conditions: Hashable, Sendable {
        /// In milliseconds. Multiples of ten, so that many messages arrive together.
        var latency = 0...0
        /// The largest size of a piece, in bytes; nil for whole frames.
        var pieceSize: Int?
        /// The largest number of frames for a message.
        var fragments = 1
        /// How long the system does not accept the client's messages.
        var writeDelay = TimeAmount.zero
    }

    fileprivate struct State: Sendable {
        var conditions = Conditions()
        var generator: SeededGenerator
        /// The outcomes of the next attempts. Later ones succeed.
        var outcomes: [ConnectOutcome] = []
        /// What happens to WebSockets that are asked for; nil if they get through.
        var upgradeFault: PusherTestRelay.UpgradeFault?
        var connections: [WatchedConnection] = []
        var links: [any SimulatedLink] = []
        var openCount = 0
        var failsRequests = false
        /// Whether the server may treat requests of HTTP transports badly.
        var hasBadRequests = false
        /// Whether the server gets nothing that the client sends.
        var hasDeafServer = false
        /// The current client. The connections of the previous client may not have ended yet.
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
            headers: request.headers.map { .init(name: $0.name, value: $0.value) }
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

    /// The next attempts have these outcomes.
    func expect(_ outcome: ConnectOutcome, count: Int) {
        state.withLockedValue { $0.outcomes += Array(repeating: outcome, count: count) }
    }

    var failsRequests: Bool {
        get { state.withLockedValue { $0.failsRequests } }
        set { state.withLockedValue { $0.failsRequests = newValue } }
    }

    /// From now on the server receives nothing from the client, or receives it again.
    func setServerDeaf(_ isDeaf: Bool) {
        state.withLockedValue { $0.hasDeafServer = isDeaf }
        if isDeaf { current?.setInconsistent() }
    }

    /// From now on the server may lose requests of HTTP transports, or hold its answers back.
    func setBadRequests(_ areBad: Bool) {
        state.withLockedValue { $0.hasBadRequests = areBad }
        if areBad { current?.setInconsistent() }
    }

    /// From now on WebSockets are blocked so, or get through.
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

    /// What carries the client's connection. While its transport is chosen there can be several.
    var currentLinks: [any SimulatedLink] {
        state.withLockedValue { state in state.links.filter { $0.client == state.client && !$0.isEnded } }
    }

    /// Whether the client's connection stands, and nothing is on its way in either direction.
    var isQuiet: Bool {
        let links = currentLinks
        return current?.isUsable == true && links.count == 1 && links.allSatisfy { $0.isQuiet }
    }

    /// What another client connects by, which takes the place of the one there was.
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
        let transport = options.count == 1 ? options[0].transport : TransportChooser(options)
        return SimulatedTransport(network: self, client: client, transport: transport)
    }

    var openCount: Int { state.withLockedValue { $0.openCount } }

    /// The network ends, with the connections that refer to it.
    func dismantle() {
        heal()
        let old = state.withLockedValue { state in
            defer { (state.connections, state.links) = ([], []) }
            return (state.connections, state.links)
        }
        withExtendedLifetime(old) {}
    }

    /// From now on everything works. Silent connections stay silent.
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

/// One client's way into the network.
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

/// WebSockets over the simulated network.
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
