/// A stopwatch that measures the time from a ping to its pong. Servers answer pings in order, but a pong does not name
/// its ping. The stopwatch therefore measures a ping only if no other ping is unanswered.
struct PingStopwatch: Hashable, Sendable {
    private var unanswered = 0
    private var lastSent: Instant?
    /// Whether a pong has arrived since the last ping.
    private var hasPong = false
    /// The time of the only unanswered ping; nil if there is no such ping, or if several pings were unanswered.
    private var sentAt: Instant?

    /// - Parameter patience: The time limit for a pong.
    mutating func sent(now: Instant, patience: Duration) {
        let isOver = lastSent.map { now - $0 >= patience } ?? false
        // The server answered the last ping, and will not answer the earlier ones any more. If it has not answered the
        // last ping, the pong may still be in a buffer, because the computer may have been suspended.
        if isOver, hasPong { unanswered = 0 }
        // The time limit for the earlier pings is over, and other frames have kept the connection open.
        sentAt = unanswered == 0 || isOver ? now : nil
        unanswered += 1
        lastSent = now
        hasPong = false
    }

    /// Handles a pong. Returns whether it answers a ping, whether it answers the last ping, and the time since the ping.
    mutating func answered(now: Instant) -> (isAnswer: Bool, isLast: Bool, time: Duration?) {
        guard unanswered > 0 else { return (false, false, nil) }
        unanswered -= 1
        hasPong = true
        defer { sentAt = nil }
        return (true, unanswered == 0, sentAt.map { now - $0 })
    }
}
