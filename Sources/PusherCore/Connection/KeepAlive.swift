/// Keeps a connection from being cut because the client is silent.
///
/// The protocol goes by what comes from the server. Some servers (poxa), proxies and routers go by what comes from the
/// client, and do not announce their limit. The client learns it from losses: if a connection was lost after a silence of
/// the client that it had not survived before, and nobody has said why, the next connection pings after half of that silence.
///
/// A loss may be chance, so the client stops these pings when the server has answered a number of them. If that costs a
/// connection, the next attempt to do without them takes ten times as many.
///
/// This value belongs to the endpoint, and outlives connections. It does not know of WebSocket's own pongs, which the
/// transport sends by itself: with these the client is less silent than it believes, and pings more often than it has to.
package struct KeepAlive: Hashable, Sendable {
    /// How long the client may be silent before it pings; nil if it goes by the activity timeout only.
    package private(set) var interval: Duration?
    /// How long the client had been silent when a connection was last lost to what may be an idle limit; nil once a
    /// connection has survived as long a silence.
    package private(set) var lastSilence: Duration?
    /// How many pings the server has to answer before the client does without them.
    private var patience = Self.patience.lowerBound
    private var answeredCount = 0
    private var watch: Watch?
    private var serial: UInt64 = 0

    /// What is known of the connection that stands.
    private struct Watch: Hashable, Sendable {
        let activityTimeout: Duration
        var timer: TimerID?
        var lastSent: Instant
        /// The longest silence that ended with a message which the server may not have got.
        var unproven = Duration.zero
        /// The longest silence that the connection has survived.
        var survived = Duration.zero
        var isPongAwaited = false
        /// Until then a loss has another reason.
        var explainedUntil = Instant()
    }

    /// Each ping may wake the radio of a phone.
    private static let shortestInterval = Duration.seconds(1)
    /// At the shortest interval, from a minute to a hundred minutes.
    private static let patience = 60...6_000
    /// How long after a `pusher:error` a loss counts as its consequence. Longer, and a server that answers each sign-in with an
    /// error would hide its limit.
    static let timeOfError = Duration.seconds(1)

    package init() {}

    // MARK: A connection

    mutating func start(activityTimeout: Duration, now: Instant, into effects: inout [Effect]) {
        watch = Watch(activityTimeout: activityTimeout, lastSent: now)
        if let interval { schedule(after: interval, into: &effects) }
    }

    mutating func stop(into effects: inout [Effect]) {
        if let timer = watch?.timer { effects.append(.cancel(timer)) }
        watch = nil
    }

    /// The client has sent something.
    mutating func sent(now: Instant) {
        guard let watch else { return }
        self.watch?.unproven = max(watch.unproven, now - watch.lastSent)
        self.watch?.lastSent = now
    }

    mutating func pinged() { watch?.isPongAwaited = true }

    mutating func ponged() {
        guard let watch, watch.isPongAwaited else { return }
        self.watch?.isPongAwaited = false
        answeredCount += 1
        if answeredCount >= patience { setInterval(nil) }
        prove()
    }

    /// The server takes no more messages. Returns true if it has said so of a ping: that came through, and the next ones
    /// come less often.
    mutating func pingRejected() -> Bool {
        guard let watch, watch.isPongAwaited else { return false }
        if let interval { setInterval(interval * 2 < watch.activityTimeout ? interval * 2 : nil) }
        ponged()
        return true
    }

    /// A frame came. Between a ping and its pong it proves nothing: it may have been on its way before the connection
    /// was cut.
    mutating func received() {
        if watch?.isPongAwaited == false { prove() }
    }

    /// The server has got what was sent.
    private mutating func prove() {
        guard let watch, watch.unproven > .zero else { return }
        self.watch?.survived = max(watch.survived, watch.unproven)
        self.watch?.unproven = .zero
        if let lastSilence, watch.unproven >= lastSilence { forget() }
    }

    /// Whether a ping is due.
    mutating func timerFired(_ id: TimerID, now: Instant, into effects: inout [Effect]) -> Bool {
        guard let watch, watch.timer == id else { return false }
        self.watch?.timer = nil
        guard let interval else { return false }
        let silence = now - watch.lastSent
        let isDue = silence >= interval
        schedule(after: isDue ? interval : interval - silence, into: &effects)
        return isDue
    }

    private mutating func schedule(after delay: Duration, into effects: inout [Effect]) {
        serial += 1
        let timer = TimerID(.keepAlive, serial)
        watch?.timer = timer
        effects.append(.schedule(timer, after: delay))
    }

    // MARK: Losses

    /// There is a reason why the connection may be lost.
    mutating func expectLoss(until end: Instant) {
        if let watch { self.watch?.explainedUntil = max(watch.explainedUntil, end) }
    }

    /// The connection was lost, and nobody has said why.
    mutating func lost(now: Instant) {
        guard let watch, now >= watch.explainedUntil else { return }
        let silence = max(watch.unproven, now - watch.lastSent)
        if silence < Self.shortestInterval { return }
        // A network that fails by chance fails after any silence. Timers are late, and so a tenth more is the same.
        guard silence > watch.survived + watch.survived / 10 else { return }
        // The timers stood still, or the event loop was held up.
        if let interval, now - watch.lastSent >= interval + LivenessStateMachine.lateness { return }
        // The client did without the pings, and needs them.
        if interval == nil, lastSilence != nil { patience = min(patience * 10, Self.patience.upperBound) }
        lastSilence = silence
        let next = max(min(silence / 2, watch.activityTimeout), Self.shortestInterval)
        setInterval(min(interval ?? next, next))
    }

    private mutating func setInterval(_ interval: Duration?) {
        self.interval = interval
        answeredCount = 0
    }

    /// What was learned is wrong, or about another server.
    mutating func forget() {
        setInterval(nil)
        lastSilence = nil
        patience = Self.patience.lowerBound
    }
}
