/// Keeps a connection from being cut because the client is silent.
///
/// In the protocol, a connection is idle if the server is silent. Some servers (poxa), proxies and routers cut it if
/// the client is silent, and do not announce after what time. The client learns it from losses: if a connection was
/// lost after a silence of the client that it had not survived before, and nobody has said why, the next connection
/// pings after half of that silence.
///
/// A loss may be chance, so the client stops these pings when the server has answered a number of them. If that costs a
/// connection, the next attempt to do without them takes ten times as many.
///
/// This value belongs to the endpoint, and outlives connections; ``SilenceWatch`` is its part of each. It does not know of
/// WebSocket's own pongs, which the transport sends by itself: with these the client is less silent than it believes, and
/// pings more often than it has to.
package struct KeepAlive: Hashable, Sendable {
    /// How long the client may be silent before it pings; nil if it goes by the activity timeout only.
    package private(set) var interval: Duration?
    /// How long the client had been silent when a connection was last lost to what may be an idle limit; nil once a
    /// connection has survived as long a silence.
    package private(set) var lastSilence: Duration?
    /// How many pings the server has to answer before the client does without them.
    private var answersNeeded = Self.answersNeeded.lowerBound
    private var answeredCount = 0

    /// Each ping may wake the radio of a phone.
    private static let shortestInterval = Duration.seconds(1)
    /// At the shortest interval, from a minute to a hundred minutes.
    private static let answersNeeded = 60...6_000
    /// How long after a `pusher:error` a loss counts as its consequence. If this were longer, a server that answers
    /// each sign-in with an error would hide its limit.
    static let explanationTime = Duration.seconds(1)

    package init() {}

    /// The server has answered a ping.
    mutating func pingAnswered() {
        answeredCount += 1
        if answeredCount >= answersNeeded { setInterval(nil) }
    }

    /// The server takes no more messages, and has said so of a ping: that came through. The next ones come less often, but
    /// more often than the silence that has cost a connection. If that is still too often, the learned limit does not
    /// help.
    mutating func pingRejected(activityTimeout: Duration) {
        guard let interval, let lastSilence else { return }
        // Timers are late, and a ping is on its way for some time.
        let limit = lastSilence * 9 / 10
        let next = interval < limit ? min((interval + lastSilence) / 2, limit) : interval * 2
        setInterval(next < activityTimeout ? next : nil)
    }

    /// The connection has survived so long a silence of the client.
    mutating func survived(_ silence: Duration) {
        if let lastSilence, silence >= lastSilence { forget() }
    }

    /// The connection was lost, and nobody has said why.
    mutating func lost(_ watch: SilenceWatch, activityTimeout: Duration, now: Instant) {
        guard now >= watch.explainedUntil else { return }
        let silence = max(watch.unproven, now - watch.lastSent)
        if silence < Self.shortestInterval { return }
        // A network that fails by chance fails after any silence. Timers are late, and so a tenth more is the same.
        guard silence > watch.survived + watch.survived / 10 else { return }
        // The timers stood still, or the event loop was held up.
        if let interval, now - watch.lastSent >= interval + LivenessStateMachine.longestTimerDelay { return }
        // The client did without the pings, and needs them.
        if interval == nil, lastSilence != nil {
            answersNeeded = min(answersNeeded * 10, Self.answersNeeded.upperBound)
        }
        lastSilence = silence
        let next = max(min(silence / 2, activityTimeout), Self.shortestInterval)
        setInterval(min(interval ?? next, next))
    }

    private mutating func setInterval(_ interval: Duration?) {
        self.interval = interval
        answeredCount = 0
    }

    /// The learned limit is wrong, or about another server.
    mutating func forget() {
        setInterval(nil)
        lastSilence = nil
        answersNeeded = Self.answersNeeded.lowerBound
    }
}

/// The silences of the client on one connection.
struct SilenceWatch: Hashable, Sendable {
    private(set) var lastSent: Instant
    /// The longest silence that ended with a message which the server may not have got.
    private(set) var unproven = Duration.zero
    /// The longest silence that the connection has survived.
    private(set) var survived = Duration.zero
    private(set) var isPongAwaited = false
    /// Until then a loss has another reason.
    private(set) var explainedUntil = Instant()

    init(since now: Instant) { lastSent = now }

    /// The client has sent something.
    mutating func sent(now: Instant) {
        unproven = max(unproven, now - lastSent)
        lastSent = now
    }

    mutating func pinged() { isPongAwaited = true }

    /// Returns `false` if no pong was awaited.
    mutating func ponged() -> Bool {
        defer { isPongAwaited = false }
        return isPongAwaited
    }

    /// There is a reason why the connection may be lost.
    mutating func expectLoss(until end: Instant) { explainedUntil = max(explainedUntil, end) }

    /// The server has got what was sent. Returns the silence that the connection has survived by that, or `nil` if none is
    /// new.
    ///
    /// A frame between a ping and its pong proves nothing: it may have been on its way before the connection was cut.
    mutating func prove() -> Duration? {
        guard !isPongAwaited, unproven > .zero else { return nil }
        defer { unproven = .zero }
        survived = max(survived, unproven)
        return unproven
    }
}
