/// The current state of the connection, with the reason.
public enum ConnectionStatus: Hashable, Sendable {
    /// The client has not tried to connect yet.
    case initialized
    /// An attempt to connect is under way.
    case connecting
    /// Connected, with this socket id. ``Pusher/transport`` is the transport.
    case connected(socketID: String)
    /// The client has tried to connect for ``PusherTimeouts/unavailable`` without success, and still tries. This status
    /// replaces ``connecting``, not ``waiting(until:attempt:reason:)``, until the client is connected. The reason is
    /// the last failure, if there was one.
    case unavailable(reason: PusherClientError?)
    /// The next attempt starts at `until`; to display the time, use ``remaining(at:)``. `reason` says why an attempt is
    /// needed. `attempt` is its number. It starts again from 1 after a connection of at least
    /// ``PusherTimeouts/backOffReset``.
    case waiting(until: ContinuousClock.Instant, attempt: Int, reason: PusherClientError)
    /// Another attempt without a change would fail too: the server said so, or the options are wrong. `connect()` makes
    /// another attempt all the same.
    case refused(PusherClientError)
    /// The closing handshake is under way.
    case disconnecting
    /// Disconnected until `connect()` is called. There is a reason unless `disconnect()` was called: reconnecting is
    /// switched off, or the retry policy stopped.
    case disconnected(reason: PusherClientError?)
}

extension ConnectionStatus {
    /// - Parameter origin: The origin of the machine's time.
    package init(_ status: ConnectionStateMachine.Status, since origin: ContinuousClock.Instant) {
        switch status {
        case .initialized: self = .initialized
        case .connecting: self = .connecting
        case .connected(let socketID): self = .connected(socketID: socketID)
        case .unavailable(let reason): self = .unavailable(reason: reason)
        case .waiting(let until, let attempt, let reason):
            self = .waiting(until: until.value(since: origin), attempt: attempt, reason: reason)
        case .refused(let error): self = .refused(error)
        case .disconnecting: self = .disconnecting
        case .disconnected(let reason): self = .disconnected(reason: reason)
        }
    }
}

extension ConnectionStatus {
    /// The reason for a missing connection. Nil if there is one, if nothing has gone wrong yet, or if the app wants
    /// none.
    public var reason: PusherClientError? {
        switch self {
        case .waiting(_, _, let reason), .refused(let reason): reason
        case .unavailable(let reason), .disconnected(let reason): reason
        case .initialized, .connecting, .connected, .disconnecting: nil
        }
    }

    /// The time until the next attempt; zero if it is due, and nil if the client does not wait.
    ///
    /// ```swift
    /// if let remaining = pusher.status.remaining() {
    ///     print("retrying in \(remaining)")
    /// }
    /// ```
    ///
    /// - Parameter now: The moment to count from. Default: now.
    public func remaining(at now: ContinuousClock.Instant = .now) -> Duration? {
        guard case .waiting(let until, _, _) = self else { return nil }
        return max(until - now, .zero)
    }

    /// The status in plain words, for a log or a developer: `retrying in 8 s (attempt 2): Connection lost: …`.
    package func description(at now: ContinuousClock.Instant) -> String {
        descriptionWithoutReason(at: now) + (reason.map { ": \($0.message)" } ?? "")
    }

    /// The same without the reason.
    package func descriptionWithoutReason(at now: ContinuousClock.Instant) -> String {
        switch self {
        case .initialized: "not connected yet"
        case .connecting: "connecting"
        case .connected(let socketID): "connected as \(socketID)"
        case .unavailable: "still trying to connect"
        case .waiting(let until, let attempt, _): "retrying \(Self.words(until - now)) (attempt \(attempt))"
        case .refused: "refused"
        case .disconnecting: "disconnecting"
        case .disconnected: "disconnected"
        }
    }

    /// Rounded up, so that it never says "in 0 s".
    private static func words(_ wait: Duration) -> String {
        guard wait > .zero else { return "now" }
        let (seconds, rest) = wait.components
        return "in \(seconds + (rest > 0 ? 1 : 0)) s"
    }
}

extension ConnectionStatus: CustomStringConvertible {
    /// The status in plain words, with the reason and the time that is left now:
    /// `retrying in 8 s (attempt 2): Connection lost: …`.
    public var description: String { description(at: .now) }
}
