import PusherProtocol

/// When attempts to connect may begin, in the time of the client's clock: when the retry policy's wait is over, when the
/// application asks, or at once after what the protocol says so of.
struct Pacing: Sendable {
    /// How many there were.
    private(set) var attempts = 0
    /// The end of the wait that the policy has decided on since the last end of a connection.
    private var until: ContinuousClock.Instant?
    /// How often the app has asked in this moment.
    private var calls = 1
    private var establishedAt: ContinuousClock.Instant?
    /// How long the last connection had held.
    private var lifetime: Duration?
    /// What the server has said on the last connection, by a close frame or an error.
    private var codes: [CloseCode] = []

    /// Whether the server has said on the last connection that trying again does not help.
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

    /// Everything has happened that was due.
    mutating func settled() { calls = 0 }

    /// What is wrong with an attempt that begins now, if something is.
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
