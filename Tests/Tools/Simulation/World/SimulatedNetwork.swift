import NIOConcurrencyHelpers
import NIOCore
import PusherClient
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

    private struct State: Sendable {
        var conditions = Conditions()
        var generator: SeededGenerator
        /// The outcomes of the next attempts. Later ones succeed.
        var outcomes: [ConnectOutcome] = []
        var connections: [SimulatedConnection] = []
        var openCount = 0
        var failsRequests = false
        /// Whether the server receives nothing from the client.
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

    func open(
        _ request: TransportRequest,
        by client: Int,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportConnection {
        let (outcome, connection) = state.withLockedValue { state in
            state.openCount += 1
            let connection = SimulatedConnection(client: client, network: self, receive: receive)
            state.connections.removeAll { $0.isEnded && !$0.isSilent }
            state.connections.append(connection)
            if state.hasDeafServer { connection.setInconsistent() }
            return (state.outcomes.isEmpty ? nil : state.outcomes.removeFirst(), connection)
        }
        observer.opened(connection)
        switch outcome {
        case nil: connect(connection, request, after: .zero)
        case .slow(let milliseconds): connect(connection, request, after: .milliseconds(milliseconds))
        case .refused: connection.fail(after: .milliseconds(10), PusherClientError(.connectionFailed, "refused"))
        case .unresolvable:
            connection.fail(after: .milliseconds(20), PusherClientError(.nameResolutionFailed, "no such host"))
        case .untrusted: connection.fail(after: .milliseconds(30), PusherClientError(.tlsFailed, "not trusted"))
        case .rejected(let status):
            connection.fail(after: .milliseconds(20), PusherClientError(.upgradeFailed, "HTTP \(status)"))
        case .silent: connection.lose(toClient: true, toServer: true)
        }
        return connection
    }

    private func connect(_ connection: SimulatedConnection, _ request: TransportRequest, after delay: Duration) {
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

    /// The client's last connection, if it is open or opening.
    var current: SimulatedConnection? {
        state.withLockedValue { state in
            state.connections.last { $0.client == state.client }.flatMap { $0.isEnded ? nil : $0 }
        }
    }

    /// The transport of a new client, which replaces the previous one.
    func makeTransport() -> SimulatedTransport {
        state.withLockedValue { state in
            state.client += 1
            return SimulatedTransport(network: self, client: state.client)
        }
    }

    var openCount: Int { state.withLockedValue { $0.openCount } }

    /// The network ends, with the connections that refer to it.
    func dismantle() {
        heal()
        let connections = state.withLockedValue { state in
            defer { state.connections = [] }
            return state.connections
        }
        withExtendedLifetime(connections) {}
    }

    /// From now on everything works. Silent connections stay silent.
    func heal() {
        let connections = state.withLockedValue { state in
            state.conditions = Conditions()
            state.outcomes = []
            state.failsRequests = false
            return state.connections
        }
        for connection in connections { connection.tellServerOfEnd() }
    }
}

/// One client's access to the network.
struct SimulatedTransport: Transport {
    let network: SimulatedNetwork
    let client: Int

    func open(
        _ request: TransportRequest,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportConnection {
        network.open(request, by: client, receive: receive)
    }
}
