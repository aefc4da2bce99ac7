/// A stopwatch that measures the time from a ping to its pong. Servers answer pings in order, but a pong does not name
/// its ping. The stopwatch therefore measures a ping only if no other ping is unanswered.
struct PingStopwatch: Hashable, Sendable {
    private var unanswered = 0
    private var lastSent: Instant?
    /// The time of the only unanswered ping; nil if there is no such ping, or if several pings were unanswered.
    private var sentAt: Instant?

    /// - Parameter patience: The time limit for a pong.
    mutating func sent(now: Instant, patience: Duration) {
        // The time limit for the earlier pings is over, so the server will not answer them any more. Other frames have
        // kept the connection open.
        if let lastSent, now - lastSent >= patience { unanswered = 0 }
        sentAt = unanswered == 0 ? now : nil
        unanswered += 1
        lastSent = now
    }

    /// Handles a pong. Returns whether it answers a ping, and the time since the ping.
    mutating func answered(now: Instant) -> (isAnswer: Bool, time: Duration?) {
        guard unanswered > 0 else { return (false, nil) }
        unanswered -= 1
        defer { sentAt = nil }
        return (true, sentAt.map { now - $0 })
    }
}
