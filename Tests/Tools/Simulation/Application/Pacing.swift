import PusherProtocol

/// The rules for the times of attempts to connect. An attempt may begin after the retry policy's wait, after a call of
/// the app, a second after a call that came right after several failures, or at once if the protocol allows that. All
/// times come from the client's clock.
struct Pacing: Sendable {
    /// The number of attempts.
    private(set) var attempts = 0
    /// The end of the wait that the retry policy has decided since the last attempt began or the app disconnected; nil if
    /// it has decided none.
    private var until: ContinuousClock.Instant?
    /// The number of app calls since the last `settled()` that have not led to an attempt. Each call allows one
    /// attempt.
    private var calls = 1
    /// The time of the first call since the last attempt, connection or disconnect; nil if there was no call.
    private var firstCall: ContinuousClock.Instant?
    private var establishedAt: ContinuousClock.Instant?
    /// The duration of the last connection.
    private var lifetime: Duration?
    /// The codes of the server's close frames and errors since the last attempt began.
    private var codes: [CloseCode] = []

    /// Whether the last connection's close frame or error asked the client not to repeat the attempt.
    var isRefused: Bool { codes.contains { $0.reaction == .refused || $0.reaction == .switchToTLS } }

    mutating func called(_ now: ContinuousClock.Instant) {
        calls += 1
        firstCall = firstCall ?? now
    }

    /// Forgets the waits that the app ends by disconnecting. After a wait that is over, the attempt may have begun,
    /// although it has not reached the network yet.
    mutating func disconnected(_ now: ContinuousClock.Instant) {
        if let until, until > now { self.until = nil }
        if let firstCall, now - firstCall < .seconds(1) { self.firstCall = nil }
    }

    mutating func decided(_ end: ContinuousClock.Instant) { until = end }

    mutating func established(_ now: ContinuousClock.Instant) {
        establishedAt = establishedAt ?? now
        firstCall = nil
    }

    mutating func told(_ code: Int?) {
        guard let code, let number = UInt16(exactly: code) else { return }
        codes.append(CloseCode(rawValue: Int(number)))
    }

    mutating func ended(_ now: ContinuousClock.Instant) {
        lifetime = establishedAt.map { now - $0 }
        establishedAt = nil
    }

    /// Forgets earlier calls of the app, because all due work is done.
    mutating func settled() { calls = 0 }

    /// Records an attempt that begins now. Returns the violation, if there is one.
    mutating func opened(_ now: ContinuousClock.Instant) -> String? {
        attempts += 1
        defer {
            until = nil
            firstCall = nil
            lifetime = nil
            codes = []
        }
        if let until, now >= until { return nil }
        guard calls == 0 else {
            calls -= 1
            return nil
        }
        if let until { return "an attempt begins \(until - now) before the wait is over" }
        if let firstCall, now - firstCall >= .seconds(1) { return nil }
        let isAllowed = codes.contains { code in
            switch code.reaction {
            case .switchToTLS: true
            case .reconnectImmediately: (lifetime ?? .zero) >= .seconds(1)
            case .refused, .backOff, .backOffAtLeastOneSecond: false
            }
        }
        return isAllowed ? nil : "an attempt begins without a wait"
    }
}
