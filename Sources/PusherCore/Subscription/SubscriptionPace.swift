/// The pace of subscriptions. The client sends all subscriptions at once, until the server reports its rate limit.
///
/// Reverb can limit the number of messages of a connection in a window of time. Subscriptions count too. Reverb drops
/// each message beyond the limit, and answers with an error that names no channel. After such an error, the client
/// sends at most as many subscriptions in a window as the server answered in the last window. If the server answers no
/// subscription in a window, the next wait is longer. If the server also drops the connection, the client halves the
/// number, and does not increase it again.
///
/// With Reverb's option to terminate at the limit, there is no error: the server drops the connection. Two losses in a
/// row within a second after a burst of subscriptions are evidence of such a limit. The number of subscriptions that the
/// server answered before the losses is the number that the client may send in a window.
struct SubscriptionPace: Hashable, Sendable {
    private struct Window: Hashable, Sendable {
        /// Whether the next wait must be longer if the server answers no subscription of this window.
        var hasWaited: Bool
        var start: Instant
        var sent = 0
        var answered = 0
        /// Whether the server has dropped subscriptions of the window.
        var exceedsLimit = false
    }

    /// Consecutive errors about the limit.
    struct Hit: Hashable, Sendable {
        /// The number of the last request before the last error.
        var lastNumber: UInt64
        var first: Instant
        var last: Instant
        /// The message of the last error.
        var message: ServerErrorMessage
    }

    /// The waits between the last answer and the next window. After a window without an answer, the client uses the
    /// next wait. The last wait is longer than Reverb's default window of a minute.
    private static let waits: [Duration] = [1, 3, 7, 15, 31, 61, 91].map { .seconds($0) }
    /// The time without an error after which the server has handled all earlier messages.
    private static let quiet = Duration.seconds(1)
    /// The maximum duration of a series of errors. If errors continue after this time, they may be about other
    /// messages.
    private static let longestHit = Duration.seconds(5)
    /// The time after which the client forgets a limit that it has not reached again.
    private static let memory = Duration.seconds(600)

    // The client has learned these values, which apply to later connections to the endpoint too.

    /// The maximum number of subscriptions in a window; nil for any number.
    private var quota: Int?
    private var waitIndex = 0
    /// Whether the server answered no subscription in the last window. The client then sends only one subscription, to
    /// test the limit.
    private var isProbing = false
    /// Whether the client may test whether the server accepts more subscriptions. The client stops these tests after
    /// the server has reported the limit and dropped the connection.
    private var mayGrow = true
    private var lastHit: Instant?
    /// The smallest number of subscriptions that the server answered before it dropped the connection in the middle of a
    /// burst, without an error; nil if it did not drop the last connection so.
    private var answeredBeforeLoss: Int?

    // These values belong to the current connection.

    private var window: Window?
    /// The time at which the server last answered a subscription. A refusal is an answer too. Before the first answer,
    /// and after a longer pause, this is the time at which the client sent the first subscription.
    private var lastAnswer: Instant?
    private(set) var hit: Hit? {
        get { boxedHit?.value }
        set { boxedHit = newValue.map { Box($0) } }
    }
    // Few servers report a limit, so the value is stored outside of the state.
    private var boxedHit: Box<Hit>?

    /// Whether the client knows that the server counts subscriptions.
    var hasLimit: Bool { quota != nil }

    // MARK: Sending

    /// Returns the number of subscriptions that the client may send now.
    ///
    /// - Parameter isAnswered: Whether the server has answered all sent subscriptions.
    func allowance(now: Instant, isAnswered: Bool) -> Int {
        guard hit == nil else { return 0 }
        guard let quota else { return .max }
        let limit = isProbing ? 1 : quota
        guard let window else { return limit }
        if !window.exceedsLimit, window.sent < limit { return limit - window.sent }
        guard now >= nextWindow, isAnswered else { return 0 }
        return window.exceedsLimit ? limit : quota + growth
    }

    private var growth: Int { mayGrow ? 1 : 0 }

    /// Counts one subscription that the client sends within the limit.
    mutating func sent(now: Instant) {
        if lastAnswer == nil { lastAnswer = now }
        let limit = quota.map { isProbing ? 1 : $0 }
        if let window {
            let isFull = limit.map { window.exceedsLimit || window.sent >= $0 } ?? (now - window.start >= Self.quiet)
            if isFull { beginWindow(after: window, now: now) }
        } else {
            window = Window(hasWaited: false, start: now)
        }
        window?.sent += 1
    }

    private mutating func beginWindow(after last: Window, now: Instant) {
        if let quota, !last.exceedsLimit {
            self.quota = quota + growth
            isProbing = false
            waitIndex = max(waitIndex - growth, 0)
        }
        // After a longer pause, other messages may have used up the limit.
        let isTimely = lastAnswer.map { now - $0 < Self.waits[waitIndex] + Self.longestHit } ?? false
        if !isTimely { lastAnswer = now }
        window = Window(hasWaited: quota != nil && isTimely, start: now)
    }

    private var nextWindow: Instant { (lastAnswer ?? Instant()) + Self.waits[waitIndex] }

    /// Returns the time of the next check.
    func wakeUp(now: Instant) -> Instant {
        if hit != nil { return max(hitEnd, now) }
        return nextWindow > now ? nextWindow : now + Self.quiet
    }

    /// The time at which the series of errors about the limit is over, if no further error arrives.
    private var hitEnd: Instant { hit.map { min($0.last + Self.quiet, $0.first + Self.longestHit) } ?? Instant() }

    /// Counts an answer to a subscription.
    mutating func answered(now: Instant) {
        window?.answered += 1
        lastAnswer = now
        if hit == nil { isProbing = false }
    }

    // MARK: The limit

    /// Handles an error about the limit. Returns `false` if the error continues a series of errors.
    mutating func exceeded(_ message: ServerErrorMessage, lastNumber: UInt64, now: Instant) -> Bool {
        lastHit = now
        // If all subscriptions are answered, no timer ends a series of errors, so ``hit`` may be an old series.
        let first = hasHitEnded(now: now) ? nil : hit?.first
        hit = Hit(lastNumber: lastNumber, first: first ?? now, last: now, message: message)
        return first == nil
    }

    func hasHitEnded(now: Instant) -> Bool { hit != nil && now >= hitEnd }

    /// Ends a series of errors about the limit. The server has handled all messages that the client sent before the
    /// errors.
    ///
    /// - Parameter unansweredCount: The number of subscriptions that the server has not answered.
    /// - Returns: `false` if the server has answered no subscription for so long that the client reports a
    ///   failure, and tries again later.
    mutating func endHit(unansweredCount: Int, now: Instant) -> Bool {
        hit = nil
        guard unansweredCount > 0 else { return true }
        let answered = window?.answered ?? 0
        window?.exceedsLimit = true
        guard answered == 0 else {
            quota = answered
            isProbing = false
            return true
        }
        quota = quota ?? 1
        isProbing = true
        if window?.hasWaited == true { waitIndex += 1 }
        guard waitIndex == Self.waits.count else { return true }
        waitIndex = 0
        window = nil
        lastAnswer = nil
        return false
    }

    /// Handles the loss of the connection. If the server had just reported the limit, the limit counts as the reason. The
    /// limit is also the reason if the server drops the connection in the middle of a burst, and the client has seen this
    /// before.
    ///
    /// - Parameters:
    ///   - isUnexplained: Whether the loss has no other reason that is known.
    ///   - unansweredCount: The number of unanswered subscriptions that the limit may concern.
    ///   - otherCount: The number of other unanswered requests that the limit may concern. They count only if the
    ///     subscriptions of the current window may have used up the limit.
    /// - Returns: `false` if many connections were lost without an answered subscription. The client then reports the
    ///   failure.
    mutating func connectionLost(
        isUnexplained: Bool,
        unansweredCount: Int,
        otherCount: Int,
        now: Instant
    ) -> Bool {
        defer { (window, lastAnswer, hit) = (nil, nil, nil) }
        let isReported = hit != nil && !hasHitEnded(now: now)
        guard isReported || isCutByLimit(isUnexplained, unansweredCount + otherCount, now: now) else { return true }
        mayGrow = false
        let half = quota.map { max($0 / 2, 1) }
        if !isReported {
            lastHit = now
            if let least = answeredBeforeLoss, let answered = window?.answered {
                window?.answered = min(answered, least)
            }
            answeredBeforeLoss = nil
        }
        // If the server answers no subscription, a new connection does not help, so the next wait must be longer.
        if window?.answered == 0 { window?.hasWaited = true }
        let isRecent = window.map { now - $0.start < Self.longestHit } ?? false
        let goesOn = endHit(unansweredCount: unansweredCount + (isRecent ? otherCount : 0), now: now)
        if let half { quota = half }
        return goesOn
    }

    /// Returns whether a loss without an error is evidence of a limit. Without a known limit, this takes two losses in a
    /// row, because the server may have been restarted.
    private mutating func isCutByLimit(_ isUnexplained: Bool, _ unansweredCount: Int, now: Instant) -> Bool {
        guard isUnexplained, unansweredCount > 0, let window, now - window.start < Self.quiet else {
            answeredBeforeLoss = nil
            return false
        }
        guard quota == nil else { return true }
        guard window.answered > 0 else { return false }
        defer { answeredBeforeLoss = min(answeredBeforeLoss ?? .max, window.answered) }
        return answeredBeforeLoss != nil
    }

    /// Forgets a limit that the client learned long ago.
    mutating func forgetOld(now: Instant) {
        guard let lastHit, now - lastHit >= Self.memory else { return }
        self = SubscriptionPace()
    }
}
