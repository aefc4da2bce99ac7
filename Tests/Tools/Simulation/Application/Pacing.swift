import PusherProtocol

/// The times at which attempts to connect may begin, by the client's clock: after the retry policy's wait, when the app
/// asks, or at once if the protocol says so.
struct Pacing: Sendable {
    /// The number of attempts.
    private(set) var attempts = 0
    /// The end of the wait that the policy has chosen since the last end of a connection.
    private var until: ContinuousClock.Instant?
    /// The number of calls of the app at this moment.
    private var calls = 1
    private var establishedAt: ContinuousClock.Instant?
    /// The duration of the last connection.
    private var lifetime: Duration?
    /// The server's last close frame or error on the last connection.
    private var codes: [CloseCode] = []

    /// Whether the server has said on the last connection that retrying does not help.
    var isRefused: Bool { codes.contains { $0.reaction == .stop || $0.reaction == .switchToTLS } }

    mutating func called() { calls += 1 }
    mutating func decided(_ end: ContinuousClock.Instant) { until = end }
    mutating func established(_ now: ContinuousClock.Instant) { establishedAt = establishedAt ?? now }

    mutating func told(_ code: Int?) {
        guard let code, let number = UInt16(exactly: code) else { return }
        codes.append(CloseCode(rawValue: Int(number)))
    }

    mutating func ended(_ now: ContinuousClock.Instant) {
        lifetime = establishedAt.map { now - $0 }
        establishedAt = nil
    }

    /// All due work has been done.
    mutating func settled() { calls = 0 }

    /// The violation of an attempt that begins now, if there is one.
    mutating func opened(_ now: ContinuousClock.Instant) -> String? {
        attempts += 1
        defer {
            until = nil
            lifetime = nil
            codes = []
        }
        if let until, now >= until { return nil }
        guard calls == 0 else {
            calls -= 1
            return nil
        }
        if let until { return "an attempt begins \(until - now) before the wait is over" }
        let isAllowed = codes.contains { code in
            switch code.reaction {
            case .switchToTLS: true
            case .reconnectImmediately: (lifetime ?? .zero) >= .seconds(1)
            case .stop, .backOff, .backOffAtLeastOneSecond: false
            }
        }
        return isAllowed ? nil : "an attempt begins without a wait"
    }
}
