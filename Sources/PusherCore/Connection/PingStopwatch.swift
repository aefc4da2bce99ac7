/// Measures how long pongs take. Servers answer pings in their order, and a pong does not say which it answers.
struct PingStopwatch: Hashable, Sendable {
    private var unanswered = 0
    private var lastSent: Instant?
    /// When the only one of those was sent; nil if several were under way at once: one of them may never be answered,
    /// and the pong be that of another.
    private var sentAt: Instant?

    /// - Parameter patience: How long a pong may take.
    mutating func sent(now: Instant, patience: Duration) {
        // Other frames kept the connection alive; what was not answered by now will not be.
        if let lastSent, now - lastSent >= patience { unanswered = 0 }
        sentAt = unanswered == 0 ? now : nil
        unanswered += 1
        lastSent = now
    }

    /// A pong came. Whether it answers a ping, and after what time.
    mutating func answered(now: Instant) -> (isAnswer: Bool, time: Duration?) {
        guard unanswered > 0 else { return (false, nil) }
        unanswered -= 1
        defer { sentAt = nil }
        return (true, sentAt.map { now - $0 })
    }
}
