/// How fast subscriptions are sent: all at once, until the server reports its rate limit.
///
/// Reverb can limit the number of messages of a connection in a window of time. Subscriptions count. It answers each
/// message beyond the limit with an error that names no channel, and drops the message. After such an error, the client
/// sends at most as many subscriptions in a window as the server accepted in the last one. A window in which it accepts
/// none makes the next wait longer. If the server drops the connection too, the client sends half as many, and does not
/// increase the number again.
struct SubscriptionPace: Hashable, Sendable {
    private struct Window: Hashable, Sendable {
        /// Whether there was a wait before it.
        var hasWaited: Bool
        var start: Instant
        var sent = 0
        var answered = 0
        /// True once the server has accepted fewer than were sent.
        var isOver = false
    }

    /// Consecutive errors about the limit.
    struct Hit: Hashable, Sendable {
        /// The number of the last request that was sent before the last error.
        var lastNumber: UInt64
        var first: Instant
        var last: Instant
        /// The last one.
        var message: ServerErrorMessage
    }

    /// The waits between the last accepted subscription and the next window. Each window without an accepted one moves
    /// to the next wait. The last is longer than Reverb's default window of a minute.
    private static let waits: [Duration] = [1, 3, 7, 15, 31, 61, 91].map { .seconds($0) }
    /// If no further error comes within this time, the server has handled everything that was sent before.
    private static let quiet = Duration.seconds(1)
    /// If the errors do not stop, they may be about other messages.
    private static let longestHit = Duration.seconds(5)
    /// The learned limit is forgotten if the client did not meet it for this long.
    private static let memory = Duration.seconds(600)

    // Learned, and kept for later connections to the endpoint.

    /// How many are sent in a window; nil for any number.
    private var quota: Int?
    private var waitIndex = 0
    /// True if the server accepted none in the last window. One subscription then tests whether it accepts any.
    private var isProbing = false
    /// Whether the client tests if the server accepts more. It stops after that has cost a connection.
    private var mayGrow = true
    private var lastHit: Instant?

    // Of this connection.

    private var window: Window?
    /// When the server last accepted one, or when the first was sent.
    private var lastTaken: Instant?
    private(set) var hit: Hit?

    /// Whether the server is known to count subscriptions.
    var hasLimit: Bool { quota != nil }

    // MARK: Sending

    /// How many subscriptions may be sent now.
    ///
    /// - Parameter isAnswered: Whether the server has answered everything that was sent.
    func allowance(now: Instant, isAnswered: Bool) -> Int {
        guard hit == nil else { return 0 }
        guard let quota else { return .max }
        let limit = isProbing ? 1 : quota
        guard let window else { return limit }
        if !window.isOver, window.sent < limit { return limit - window.sent }
        guard now >= nextWindow, isAnswered else { return 0 }
        return window.isOver ? limit : quota + growth
    }

    private var growth: Int { mayGrow ? 1 : 0 }

    /// Counts one subscription that was sent within the limit.
    mutating func sent(now: Instant) {
        if lastTaken == nil { lastTaken = now }
        let limit = quota.map { isProbing ? 1 : $0 }
        if let window {
            let isFull = limit.map { window.isOver || window.sent >= $0 } ?? (now - window.start >= Self.quiet)
            if isFull { beginWindow(after: window, now: now) }
        } else {
            window = Window(hasWaited: false, start: now)
        }
        window?.sent += 1
    }

    private mutating func beginWindow(after last: Window, now: Instant) {
        if let quota, !last.isOver {
            self.quota = quota + growth
            isProbing = false
            waitIndex = max(waitIndex - growth, 0)
        }
        // After a longer pause, other messages may have used up the limit.
        let isTimely = lastTaken.map { now - $0 < Self.waits[waitIndex] + Self.longestHit } ?? false
        if !isTimely { lastTaken = now }
        window = Window(hasWaited: quota != nil && isTimely, start: now)
    }

    private var nextWindow: Instant { (lastTaken ?? Instant()) + Self.waits[waitIndex] }

    /// When something may have to be done next.
    func wakeUp(now: Instant) -> Instant {
        if hit != nil { return max(hitEnd, now) }
        return nextWindow > now ? nextWindow : now + Self.quiet
    }

    /// The end of the errors about the limit, if no further one comes.
    private var hitEnd: Instant { hit.map { min($0.last + Self.quiet, $0.first + Self.longestHit) } ?? Instant() }

    /// Counts an answer to a subscription.
    mutating func answered(now: Instant) {
        window?.answered += 1
        lastTaken = now
        if hit == nil { isProbing = false }
    }

    // MARK: The limit

    /// Handles an error about the limit. Returns `false` if it follows another one.
    mutating func exceeded(_ message: ServerErrorMessage, lastNumber: UInt64, now: Instant) -> Bool {
        lastHit = now
        // No timer ends errors that came while all subscriptions were answered.
        let first = isHitOver(now: now) ? nil : hit?.first
        hit = Hit(lastNumber: lastNumber, first: first ?? now, last: now, message: message)
        return first == nil
    }

    func isHitOver(now: Instant) -> Bool { hit != nil && now >= hitEnd }

    /// Ends the errors: the server has handled everything that was sent before them.
    ///
    /// - Parameter refusedCount: How many subscriptions it has not answered.
    /// - Returns: `false` if it has accepted none for so long that the client stops trying.
    mutating func endHit(refusedCount: Int, now: Instant) -> Bool {
        hit = nil
        guard refusedCount > 0 else { return true }
        let taken = window?.answered ?? 0
        window?.isOver = true
        guard taken == 0 else {
            quota = taken
            isProbing = false
            return true
        }
        quota = quota ?? 1
        isProbing = true
        if window?.hasWaited == true { waitIndex += 1 }
        guard waitIndex == Self.waits.count else { return true }
        waitIndex = 0
        window = nil
        lastTaken = nil
        return false
    }

    /// Handles the loss of the connection. If the server had just reported the limit, that counts as the reason.
    ///
    /// - Parameter refusedCount: The number of unanswered subscriptions that the limit may concern.
    /// - Returns: `false` if so many connections were lost without an accepted subscription that the failure is
    ///   reported.
    mutating func connectionLost(refusedCount: Int, now: Instant) -> Bool {
        defer { (window, lastTaken, hit) = (nil, nil, nil) }
        guard hit != nil, !isHitOver(now: now) else { return true }
        mayGrow = false
        let half = quota.map { max($0 / 2, 1) }
        // If the server does not even accept the first one, only time helps, and not a new connection. Only time does.
        if window?.answered == 0 { window?.hasWaited = true }
        let goesOn = endHit(refusedCount: refusedCount, now: now)
        if let half { quota = half }
        return goesOn
    }

    /// Forgets a limit that was learned long ago.
    mutating func forgetOld(now: Instant) {
        guard let lastHit, now - lastHit >= Self.memory else { return }
        self = SubscriptionPace()
    }
}
