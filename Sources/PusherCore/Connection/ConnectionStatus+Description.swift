extension ConnectionStatus {
    /// Why there is no connection; nil where there is one, where nothing has gone wrong yet, and where the application
    /// wants it so.
    public var reason: PusherClientError? {
        switch self {
        case .waiting(_, _, let reason), .refused(let reason): reason
        case .unavailable(let reason), .disconnected(let reason): reason
        case .initialized, .connecting, .connected, .disconnecting: nil
        }
    }

    /// The time until the next attempt; zero where that is due, and nil where none is waited for.
    ///
    /// ```swift
    /// if let remaining = pusher.connection.status.remaining() {
    ///     print("retrying in \(remaining)")
    /// }
    /// ```
    ///
    /// - Parameter now: The moment to count from. Default: now.
    public func remaining(at now: ContinuousClock.Instant = .now) -> Duration? {
        guard case .waiting(let until, _, _) = self else { return nil }
        return max(until - now, .zero)
    }

    /// The status in plain words, for a log or a developer: `retrying in 8 s (attempt 2): the connection was lost …`.
    ///
    /// - Parameter now: The moment to count from. Default: now.
    public func description(at now: ContinuousClock.Instant = .now) -> String {
        switch self {
        case .initialized: "not connected yet"
        case .connecting: "connecting"
        case .connected(let socketID): "connected as \(socketID)"
        case .unavailable(let reason): "still trying to connect" + Self.words(reason)
        case .waiting(let until, let attempt, let reason):
            "retrying \(Self.words(until - now)) (attempt \(attempt))" + Self.words(reason)
        case .refused(let reason): "refused" + Self.words(reason)
        case .disconnecting: "disconnecting"
        case .disconnected(let reason): "disconnected" + Self.words(reason)
        }
    }

    private static func words(_ reason: PusherClientError?) -> String { reason.map { ": \($0.message)" } ?? "" }

    /// Rounded up: "in 0 s" is what nobody wants to read.
    private static func words(_ wait: Duration) -> String {
        guard wait > .zero else { return "now" }
        let (seconds, rest) = wait.components
        return "in \(seconds + (rest > 0 ? 1 : 0)) s"
    }
}

extension ConnectionStatus: CustomStringConvertible {
    /// The status in plain words, with the time that is left now: see ``description(at:)``.
    public var description: String { description(at: .now) }
}
