/// A stopwatch that measures the time from a ping to its pong. Servers answer pings in order, but a pong does not name
/// its ping. The stopwatch therefore measures a ping only if no other ping is unanswered.
struct PingStopwatch: Hashable, Sendable {
    struct Answer {
        /// Whether the pong answers a ping.
        var isAnswer = false
        /// Whether the pong answers the awaited ping.
        var isAwaited = false
        /// The time since the ping; nil if the stopwatch did not measure it.
        var time: Duration?
    }

    private var unanswered = 0
    /// The number of pongs up to the pong of the awaited ping; nil if the client awaits none.
    private var pongsToAwait: Int?
    private var lastSent: Instant?
    /// Whether a pong has arrived since the last ping.
    private var hasPong = false
    /// The time of the only unanswered ping; nil if there is no such ping, or if several pings were unanswered.
    private var sentAt: Instant?

    /// - Parameters:
    ///   - patience: The time limit for a pong.
    ///   - isAwaited: Whether the client awaits the pong of this ping from now on.
    mutating func sent(now: Instant, patience: Duration, isAwaited: Bool) {
        let isOver = lastSent.map { now - $0 >= patience } ?? false
        // The server answered the last ping, and will not answer the earlier ones any more. If it has not answered the
        // last ping, the pong may still be in a buffer, because the computer may have been suspended.
        let startsOver = isOver && hasPong
        if startsOver { unanswered = 0 }
        // The time limit for the earlier pings is over, and other frames have kept the connection open.
        sentAt = unanswered == 0 || isOver ? now : nil
        unanswered += 1
        if isAwaited || startsOver && pongsToAwait != nil { pongsToAwait = unanswered }
        lastSent = now
        hasPong = false
    }

    /// Handles a pong.
    mutating func answered(now: Instant) -> Answer {
        guard unanswered > 0 else { return Answer() }
        unanswered -= 1
        hasPong = true
        let rest = pongsToAwait.map { $0 - 1 }
        pongsToAwait = rest == 0 ? nil : rest
        defer { sentAt = nil }
        return Answer(isAnswer: true, isAwaited: rest == 0, time: sentAt.map { now - $0 })
    }
}
