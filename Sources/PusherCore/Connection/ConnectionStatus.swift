/// The current state of the connection, with the reason.
public enum ConnectionStatus: Hashable, Sendable {
    /// The client has not tried to connect yet.
    case initialized
    /// An attempt to connect is under way.
    case connecting
    /// Connected, with this socket id. ``Pusher/transport`` is the transport.
    case connected(socketID: String)
    /// The client has tried to connect for ``PusherTimeouts/unavailable`` without success, and still tries. Until the
    /// client is connected, this status replaces ``connecting``, but not ``waiting(until:attempt:reason:)``. The reason
    /// is the last failure, if an attempt has failed.
    case unavailable(reason: PusherClientError?)
    /// The client waits for the next attempt, which starts at `until`. Use ``remaining(at:)`` to display the time.
    /// `attempt` is the number of the next attempt, and `reason` is the error that makes the attempt necessary. After a
    /// connection of at least ``PusherTimeouts/backOffReset``, the numbers start again from 1.
    case waiting(until: ContinuousClock.Instant, attempt: Int, reason: PusherClientError)
    /// The client has stopped, because the server refused it or the options are invalid. Another attempt would fail
    /// too. `connect()` still starts another attempt.
    case refused(PusherClientError)
    /// The closing handshake is under way.
    case disconnecting
    /// The client is disconnected until `connect()` is called. The reason is nil after `disconnect()`. If there is a
    /// reason, the client has stopped, because reconnecting is switched off or no further attempt is allowed.
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
    /// The reason for the missing connection. Nil for the statuses `initialized`, `connecting`, `connected` and
    /// `disconnecting`. For `unavailable`, nil if no attempt has failed yet. For `disconnected`, nil after
    /// `disconnect()`.
    public var reason: PusherClientError? {
        switch self {
        case .waiting(_, _, let reason), .refused(let reason): reason
        case .unavailable(let reason), .disconnected(let reason): reason
        case .initialized, .connecting, .connected, .disconnecting: nil
        }
    }

    /// Returns the time until the next attempt. Returns zero if the attempt is due, and nil if the client does not
    /// wait.
    ///
    /// ```swift
    /// if let remaining = pusher.status.remaining() {
    ///     print("retrying in \(remaining)")
    /// }
    /// ```
    ///
    /// - Parameter now: The time from which to count. Default: now.
    public func remaining(at now: ContinuousClock.Instant = .now) -> Duration? {
        guard case .waiting(let until, _, _) = self else { return nil }
        return max(until - now, .zero)
    }

    /// Returns the status in plain words, for a log or a developer: `retrying in 8 s (attempt 2): Connection lost: …`.
    package func description(at now: ContinuousClock.Instant) -> String {
        descriptionWithoutReason(at: now) + (reason.map { ": \($0.message)" } ?? "")
    }

    /// Returns the status in plain words without the reason.
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

    /// Returns the wait in plain words. The method rounds a wait of at least half a second up to whole seconds, because
    /// countdowns show whole seconds.
    private static func words(_ wait: Duration) -> String {
        guard wait > .zero else { return "now" }
        if wait < .milliseconds(500) { return "in \(Int((wait / .milliseconds(1)).rounded(.up))) ms" }
        let (seconds, rest) = wait.components
        return "in \(seconds + (rest > 0 ? 1 : 0)) s"
    }
}

extension ConnectionStatus: CustomStringConvertible {
    /// The status in plain words, with the reason and the remaining time: `retrying in 8 s (attempt 2): Connection
    /// lost: …`.
    public var description: String { description(at: .now) }
}
