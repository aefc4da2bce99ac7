import PusherClient

/// Counts the actions of each kind in each state of the client. An action that needs a connection counts only during a
/// connection.
package struct FaultCoverage: Sendable {
    package private(set) var counts: [String: [String: Int]] = [:]
    /// The names of all kinds of actions in the scripts. Each value tells whether the kind needs a connection.
    private var kinds: [String: Bool] = [:]

    package init() {}

    package static let states = [
        "initialized", "connecting", "connected", "unavailable", "waiting", "disconnecting", "disconnected", "refused",
    ]

    /// The states with an open, opening or closing connection.
    private static let statesOfConnections: Set = ["connecting", "connected", "unavailable", "disconnecting"]

    /// - Parameter hasConnection: Whether the server has a connection of the client.
    mutating func record(_ action: Action, in status: ConnectionStatus?, hasConnection: Bool) {
        guard let status else { return }
        kinds[action.name] = action.needsConnection
        guard hasConnection || !action.needsConnection else { return }
        counts[action.name, default: [:]][status.name, default: 0] += 1
    }

    package static func + (left: Self, right: Self) -> Self {
        var sum = left
        sum.counts.merge(right.counts) { $0.merging($1, uniquingKeysWith: +) }
        sum.kinds.merge(right.kinds) { needsConnection, _ in needsConnection }
        return sum
    }

    /// The kinds that never happened in a state in which they are possible.
    package var gaps: [String] {
        kinds.sorted { $0.key < $1.key }.flatMap { name, needsConnection in
            Self.states
                .filter { !needsConnection || Self.statesOfConnections.contains($0) }
                .filter { counts[name]?[$0] == nil }
                .map { "\(name) while \($0)" }
        }
    }

    /// A table with one kind in each row.
    package var table: String {
        let width = (kinds.keys.map(\.count).max() ?? 0) + 2
        func row(_ title: String, _ cells: [String]) -> String {
            title.padded(to: width) + cells.map { $0.paddedLeft(to: 14) }.joined()
        }
        var rows = [row("", Self.states)]
        for name in kinds.keys.sorted() {
            rows.append(row(name, Self.states.map { String(counts[name]?[$0] ?? 0) }))
        }
        return rows.joined(separator: "\n")
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
    fileprivate func paddedLeft(to width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}

extension ConnectionStatus {
    fileprivate var name: String {
        switch self {
        case .initialized: "initialized"
        case .connecting: "connecting"
        case .connected: "connected"
        case .unavailable: "unavailable"
        case .waiting: "waiting"
        case .refused: "refused"
        case .disconnecting: "disconnecting"
        case .disconnected: "disconnected"
        }
    }
}

extension Action {
    /// The name of the kind of action. If the action has a fault or a code as its value, each kind of fault and each
    /// range of codes is a separate kind.
    fileprivate var name: String {
        switch self {
        case .nextConnections(let outcome, _): "next connection " + Self.caseName(outcome)
        case .failAuthorizations(let fault, _): "authorization " + Self.caseName(fault)
        case .failSignIns(let fault, _): "sign-in " + Self.caseName(fault)
        case .failConnections(let fault, _): "server " + Self.caseName(fault)
        case .failTransportRequests(_, let fault, _): "HTTP request " + Self.caseName(fault)
        case .blockUpgrades(let fault?): "upgrade " + Self.caseName(fault)
        case .failSubscriptions(_, let fault?): "subscription " + Self.caseName(fault)
        case .close(let code): "close " + Self.range(code)
        case .error(let code, _): "error " + Self.range(code)
        default: Self.caseName(self)
        }
    }

    /// Whether the action has no effect without a connection of the client.
    fileprivate var needsConnection: Bool {
        switch self {
        case .cut, .goDeaf, .close, .error, .dropConnections, .ping, .webSocketPing, .say, .sayBytes, .sayBinary,
            .endStreams, .loseSessions:
            true
        default: false
        }
    }

    private static func caseName(_ value: some Any) -> String {
        String(String(describing: value).prefix { $0 != "(" })
    }

    private static func range(_ code: Int?) -> String {
        guard let code else { return "without a code" }
        return code < 4000 ? "below 4000" : code < 4400 ? "\(code / 100)xx" : "from 4400 on"
    }
}
