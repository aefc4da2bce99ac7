/// Keeps a connection from being cut because the client is silent.
///
/// The protocol goes by what comes from the server. Some servers (poxa), proxies and routers go by what comes from the
/// client, and do not announce their limit. It is learned from losses: if a connection was lost after a silence of the
/// client that it had not survived before, and nobody has said why, the next connection pings after half of that silence.
///
/// This value belongs to the endpoint, and outlives connections. It does not know of WebSocket's own pongs, which the
/// transport sends by itself: with these the client is less silent than it believes, and pings more often than it has to.
package struct KeepAlive: Hashable, Sendable {
    /// How long the client may be silent before it pings; nil if nothing was learned.
    package private(set) var interval: Duration?
    /// How long the client had been silent when a connection was last lost to what may be an idle limit.
    package private(set) var lastSilence: Duration?
    /// How long connections have held with this interval.
    private var heldFor = Duration.zero
    private var watch: Watch?
    private var serial: UInt64 = 0

    /// What is known of the connection that stands.
    private struct Watch: Hashable, Sendable {
        /// Since when the connection counts as held with the interval.
        var heldSince: Instant
        let activityTimeout: Duration
        var timer: TimerID?
        var lastSent: Instant
        /// The longest silence that ended with a message which the server may not have got.
        var unproven = Duration.zero
        /// The longest silence that the connection has survived.
        var survived = Duration.zero
        var isPongAwaited = false
        /// Until then a loss has another reason.
        var explainedUntil: Instant?

        mutating func sent(now: Instant) {
            unproven = max(unproven, now - lastSent)
            lastSent = now
        }

        /// The server has got what was sent.
        mutating func prove() {
            guard unproven > .zero else { return }
            survived = max(survived, unproven)
            unproven = .zero
        }
    }

    /// Each ping may wake the radio of a phone.
    private static let shortestInterval = Duration.seconds(1)
    /// A single loss may be chance, as on a train. It takes two after the same silence for a shorter interval.
    private static let shortestFirstInterval = Duration.seconds(5)
    /// How long connections have to hold before the next one tries an interval that is twice as long. It may not survive that.
    private static let timeToForget = Duration.seconds(3_600)
    /// How long after a `pusher:error` a loss counts as its consequence. Longer, and a server that answers each sign-in with an
    /// error would hide its limit.
    private static let timeOfError = Duration.seconds(1)

    package init() {}

    // MARK: A connection

    mutating func start(activityTimeout: Duration, now: Instant, into effects: inout [Effect]) {
        stop(now: now, into: &effects)
        if let interval, heldFor >= Self.timeToForget {
            heldFor = .zero
            self.interval = interval * 2 < activityTimeout ? interval * 2 : nil
        }
        watch = Watch(heldSince: now, activityTimeout: activityTimeout, lastSent: now)
        if let interval { schedule(after: interval, into: &effects) }
    }

    mutating func stop(now: Instant, into effects: inout [Effect]) {
        guard let watch else { return }
        if let timer = watch.timer { effects.append(.cancel(timer)) }
        heldFor += now - watch.heldSince
        self.watch = nil
    }

    /// The client has sent something.
    mutating func sent(now: Instant) { watch?.sent(now: now) }

    mutating func pinged() { watch?.isPongAwaited = true }

    mutating func ponged() {
        watch?.isPongAwaited = false
        watch?.prove()
    }

    /// A frame came. Between a ping and its pong it proves nothing: it may have been on its way before the connection
    /// was cut.
    mutating func received() {
        guard watch?.isPongAwaited == false else { return }
        watch?.prove()
    }

    /// Whether a ping is due.
    mutating func timerFired(_ id: TimerID, now: Instant, into effects: inout [Effect]) -> Bool {
        guard let watch, watch.timer == id, let interval else { return false }
        let silence = now - watch.lastSent
        guard silence < interval else {
            schedule(after: interval, into: &effects)
            return true
        }
        schedule(after: interval - silence, into: &effects)
        return false
    }

    private mutating func schedule(after delay: Duration, into effects: inout [Effect]) {
        serial += 1
        let timer = TimerID(.keepAlive, serial)
        watch?.timer = timer
        effects.append(.schedule(timer, after: delay))
    }

    // MARK: Losses

    /// The server has sent an error: a loss that follows is not one of an idle connection.
    mutating func errorReceived(now: Instant) { expectLoss(until: now + Self.timeOfError) }

    /// There is a reason why the connection may be lost.
    mutating func expectLoss(until end: Instant) {
        let known = watch?.explainedUntil ?? end
        watch?.explainedUntil = max(known, end)
    }

    /// The connection was lost, and nobody has said why.
    mutating func lost(now: Instant) {
        guard let watch else { return }
        if let end = watch.explainedUntil, now < end { return }
        let silence = max(watch.unproven, now - watch.lastSent)
        guard silence >= Self.shortestInterval else { return }
        // A network that fails by chance fails after any silence. Timers are late, and so a tenth more is the same.
        guard silence > watch.survived + watch.survived / 10 else { return }
        // The timers stood still, or the event loop was held up.
        if let interval, now - watch.lastSent >= interval + LivenessStateMachine.lateness { return }
        learn(silence, activityTimeout: watch.activityTimeout)
        heldFor = .zero
        self.watch?.heldSince = now
    }

    private mutating func learn(_ silence: Duration, activityTimeout: Duration) {
        let isRepeated = lastSilence.map { silence * 4 <= $0 * 5 && $0 * 4 <= silence * 5 } ?? false
        lastSilence = silence
        let shortest = isRepeated ? Self.shortestInterval : Self.shortestFirstInterval
        let next = max(min(silence / 2, activityTimeout), shortest)
        interval = min(interval ?? next, next)
    }

    /// What was learned is about another server.
    mutating func forget() {
        interval = nil
        lastSilence = nil
        heldFor = .zero
    }
}
