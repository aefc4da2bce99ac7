/// Measures how long pongs take. Servers answer pings in order, and a pong does not say which ping it answers.
struct PingStopwatch: Hashable, Sendable {
    private var unanswered = 0
    private var lastSent: Instant?
    /// When the only unanswered ping was sent. Nil if there were several at once, because one of them may stay
    /// unanswered, and the pong may belong to another.
    private var sentAt: Instant?

    /// - Parameter patience: How long a pong may take.
    mutating func sent(now: Instant, patience: Duration) {
        // Other frames kept the connection alive. Pings that are still unanswered will not be answered.
        if let lastSent, now - lastSent >= patience { unanswered = 0 }
        sentAt = unanswered == 0 ? now : nil
        unanswered += 1
        lastSent = now
    }

    /// A pong came. Returns whether it answers a ping, and after what time.
    mutating func answered(now: Instant) -> (isAnswer: Bool, time: Duration?) {
        guard unanswered > 0 else { return (false, nil) }
        unanswered -= 1
        defer { sentAt = nil }
        return (true, sentAt.map { now - $0 })
    }
}
