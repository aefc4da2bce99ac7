/// Keeps connections alive on servers and proxies that cut silent clients.
///
/// In the protocol, a connection is idle if the server is silent. Some servers (poxa), proxies and routers cut it if
/// the client is silent, and do not announce the limit. The client learns the limit from losses. A loss counts if it
/// follows a longer silence of the client than the connection had survived before, and has no known reason. The next
/// connection pings after half of that silence.
///
/// A loss may be chance, so the client stops these pings after the server has answered a number of them. If that costs
/// a connection, the next trial without them comes after ten times as many pings.
///
/// This value belongs to the endpoint, and outlives connections. Each connection has a ``SilenceWatch``. It does not
/// count WebSocket pongs, which the transport sends by itself. With these the client is less silent than it believes,
/// and pings more often than necessary.
package struct KeepAlive: Hashable, Sendable {
    /// How long the client may be silent before it pings; nil if only the activity timeout applies.
    package private(set) var interval: Duration?
    /// The silence of the client before the last loss that an idle limit may have caused; nil once a connection has
    /// survived such a silence.
    package private(set) var lastSilence: Duration?
    /// How many pings the server has to answer before the client stops them.
    private var answersNeeded = Self.answersNeeded.lowerBound
    private var answeredCount = 0

    /// Each ping may wake the radio of a phone.
    private static let shortestInterval = Duration.seconds(1)
    /// At the shortest interval, this takes from a minute to a hundred minutes.
    private static let answersNeeded = 60...6_000
    /// How long after a `pusher:error` a loss counts as its consequence. If this were longer, a server that answers
    /// each sign-in with an error would hide its limit.
    static let explanationTime = Duration.seconds(1)

    package init() {}

    /// Handles that the server has answered a ping.
    mutating func pingAnswered() {
        answeredCount += 1
        if answeredCount >= answersNeeded { setInterval(nil) }
    }

    /// Handles that the server rejected a ping because of its rate limit: the ping arrived. The next ones come less
    /// often, but within the silence that cost a connection. If that is still too often, the learned limit does not
    /// help.
    mutating func pingRejected(activityTimeout: Duration) {
        guard let interval, let lastSilence else { return }
        // Timers are late, and a ping takes time to arrive.
        let limit = lastSilence * 9 / 10
        let next = interval < limit ? min((interval + lastSilence) / 2, limit) : interval * 2
        setInterval(next < activityTimeout ? next : nil)
    }

    /// Handles that the connection has survived such a silence of the client.
    mutating func survived(_ silence: Duration) {
        if let lastSilence, silence >= lastSilence { forget() }
    }

    /// Handles a loss without a known reason.
    mutating func lost(_ watch: SilenceWatch, activityTimeout: Duration, now: Instant) {
        guard now >= watch.explainedUntil else { return }
        let silence = max(watch.unproven, now - watch.lastSent)
        if silence < Self.shortestInterval { return }
        // A network that fails by chance fails after any silence. Timers are late, so a difference of a tenth does not
        // count.
        guard silence > watch.survived + watch.survived / 10 else { return }
        // The timers did not run, or the event loop was blocked.
        if let interval, now - watch.lastSent >= interval + LivenessStateMachine.longestTimerDelay { return }
        // The client had stopped the pings, and needs them.
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

    /// Forgets the limit, because it is wrong or belongs to another server.
    mutating func forget() {
        setInterval(nil)
        lastSilence = nil
        answersNeeded = Self.answersNeeded.lowerBound
    }
}

/// The silences of the client on one connection.
struct SilenceWatch: Hashable, Sendable {
    private(set) var lastSent: Instant
    /// The longest silence that ended with a message which the server may not have received.
    private(set) var unproven = Duration.zero
    /// The longest silence that the connection has survived.
    private(set) var survived = Duration.zero
    private(set) var isPongAwaited = false
    /// Until then, a loss has another reason.
    private(set) var explainedUntil = Instant()

    init(since now: Instant) { lastSent = now }

    /// Handles that the client has sent something.
    mutating func sent(now: Instant) {
        unproven = max(unproven, now - lastSent)
        lastSent = now
    }

    mutating func pinged() { isPongAwaited = true }

    /// Returns `false` if no pong was expected.
    mutating func ponged() -> Bool {
        defer { isPongAwaited = false }
        return isPongAwaited
    }

    /// Notes that there is a reason why the connection may be lost.
    mutating func expectLoss(until end: Instant) { explainedUntil = max(explainedUntil, end) }

    /// Handles that the server has received the sent message. Returns the silence that the connection has thereby
    /// survived, or `nil` if it is not longer than before.
    ///
    /// A frame between a ping and its pong proves nothing: the server may have sent it before the connection was cut.
    mutating func prove() -> Duration? {
        guard !isPongAwaited, unproven > .zero else { return nil }
        defer { unproven = .zero }
        survived = max(survived, unproven)
        return unproven
    }
}
