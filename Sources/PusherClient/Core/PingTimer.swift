/// Measures how long pongs take. Servers answer pings in their order, and a pong does not say which it answers.
struct PingTimer: Hashable, Sendable {
    private var unanswered = 0
    /// When the first of those was sent; nil where that is not known, because several were under way at once.
    private var sentAt: Instant?

    mutating func sent(now: Instant) {
        if unanswered == 0 { sentAt = now }
        unanswered += 1
    }

    /// A pong came. Whether it answers a ping, and after what time.
    mutating func answered(now: Instant) -> (isAnswer: Bool, time: Duration?) {
        guard unanswered > 0 else { return (false, nil) }
        unanswered -= 1
        defer { sentAt = nil }
        return (true, sentAt.map { now - $0 })
    }
}
