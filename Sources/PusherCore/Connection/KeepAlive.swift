/// The interval of the pings that keep a silent client's connection open. The client learns the interval from lost
/// connections.
///
/// In the protocol, a connection is idle if the server is silent. But some servers (poxa), proxies and routers cut the
/// connection if the client is silent, and do not announce their limit. The client learns the limit from losses. A loss
/// counts only if it has no known reason. The silence of the client before the loss must also be longer than each
/// silence that the connection had survived. One loss may happen by chance, or because the server restarts, so it is only
/// a suspicion. After a second loss with the same silence, the client pings after half of this silence.
///
/// Even two losses may happen by chance, so the client stops these pings after a number of answers. If the client then
/// loses a connection after the same silence, it sends ten times as many pings before it stops them again.
///
/// This value belongs to the endpoint, and outlives connections. Each connection has a ``SilenceWatch``. The
/// ``SilenceWatch`` does not count WebSocket pongs as messages of the client, because the transport sends these pongs
/// by itself. If the server sends WebSocket pings, the client therefore pings more often than necessary.
package struct KeepAlive: Hashable, Sendable {
    /// The time that the client stays silent before it pings; nil if only the activity timeout applies.
    package private(set) var interval: Duration?
    /// The client's silence before two losses, from which the client has learned a limit. Nil after a connection has
    /// survived an equally long silence.
    package private(set) var lastSilence: Duration?
    /// The client's silence before the last loss, if an idle limit may have caused the loss, and no other loss has
    /// confirmed it. Nil after a connection has survived an equally long silence, and after a failed attempt.
    package private(set) var suspectedSilence: Duration?
    /// The number of answers after which the client stops the pings.
    private var answersNeeded = Self.answerLimits.lowerBound
    private var answeredCount = 0

    /// The shortest interval. There is a minimum, because each ping may wake the radio of a phone.
    private static let shortestInterval = Duration.seconds(1)
    /// The client stops the pings after 60 answers at first, and after at most 6,000 answers. At one ping a second,
    /// that is 1 minute or 100 minutes.
    private static let answerLimits = 60...6_000
    /// The time after a `pusher:error` in which a loss counts as a consequence of the error. If this time were longer,
    /// the client could not learn the limit of a server that answers each sign-in with an error.
    static let explanationTime = Duration.seconds(1)

    package init() {}

    /// Handles the server's answer to a ping.
    mutating func pingAnswered() {
        answeredCount += 1
        if answeredCount >= answersNeeded { setInterval(nil) }
    }

    /// Handles a ping that the server rejected because of its rate limit. The rejection proves that the ping arrived.
    /// The client then pings less often, but still after a shorter silence than before the last loss: at most after
    /// nine tenths of that silence. If the server rejects pings at this maximum too, the client doubles the interval.
    /// The client stops the pings when the interval reaches the activity timeout.
    mutating func pingRejected(activityTimeout: Duration) {
        guard let interval, let lastSilence else { return }
        // The ping must arrive before the silence is too long, but timers fire late, and a ping takes time.
        let limit = lastSilence * 9 / 10
        let next = interval < limit ? min((interval + lastSilence) / 2, limit) : interval * 2
        setInterval(next < activityTimeout ? next : nil)
    }

    /// Handles a silence of the client that the connection has survived.
    mutating func survived(_ silence: Duration) {
        if let suspectedSilence, silence >= suspectedSilence { self.suspectedSilence = nil }
        if let lastSilence, silence >= lastSilence { forget() }
    }

    /// Handles a failed attempt. The loss before the attempt was the beginning of an outage.
    mutating func attemptFailed() { suspectedSilence = nil }

    /// Handles a loss without a known reason.
    mutating func lost(_ watch: SilenceWatch, activityTimeout: Duration, now: Instant) {
        guard now >= watch.explainedUntil else { return }
        let silence = max(watch.unproven, now - watch.lastSent)
        if silence < Self.shortestInterval { return }
        // A loss by chance can follow any silence, so a silence counts only if it is longer than each survived silence.
        // Timers fire late, so the silence must be longer by a hundredth. With a larger margin, the client's own tries at
        // random times, for example of a sign-in, could hide a limit: they survive silences that are almost as long.
        guard silence > watch.survived + watch.survived / 100 else { return }
        // If the timers did not run, for example because the machine was suspended, the client could not ping.
        if let interval, now - watch.lastSent >= interval + LivenessStateMachine.longestTimerDelay { return }
        guard [suspectedSilence, lastSilence].contains(where: { Self.areSimilar($0, silence) }) else {
            suspectedSilence = silence
            return
        }
        suspectedSilence = nil
        // The client had stopped the pings, but still needs them.
        if interval == nil, lastSilence != nil {
            answersNeeded = min(answersNeeded * 10, Self.answerLimits.upperBound)
        }
        lastSilence = silence
        let next = max(min(silence / 2, activityTimeout), Self.shortestInterval)
        setInterval(min(interval ?? next, next))
    }

    /// Returns whether one idle limit may have caused losses after both silences. Timers fire late, so the silences may
    /// differ by a tenth.
    private static func areSimilar(_ known: Duration?, _ silence: Duration) -> Bool {
        guard let known else { return false }
        return max(known, silence) <= min(known, silence) + min(known, silence) / 10
    }

    private mutating func setInterval(_ interval: Duration?) {
        self.interval = interval
        answeredCount = 0
    }

    /// Forgets the limit, because it is wrong or belongs to another server.
    mutating func forget() {
        setInterval(nil)
        lastSilence = nil
        suspectedSilence = nil
        answersNeeded = Self.answerLimits.lowerBound
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
    /// The time until which a loss has a known reason, and does not count.
    private(set) var explainedUntil = Instant()

    init(since now: Instant) { lastSent = now }

    /// Notes a message that the client has sent.
    mutating func sent(now: Instant) {
        unproven = max(unproven, now - lastSent)
        lastSent = now
    }

    mutating func pinged() { isPongAwaited = true }

    /// Handles a pong. Returns `false` if the client expected no pong.
    mutating func ponged() -> Bool {
        defer { isPongAwaited = false }
        return isPongAwaited
    }

    /// Notes a reason why the connection may be lost soon.
    mutating func expectLoss(until end: Instant) { explainedUntil = max(explainedUntil, end) }

    /// Notes that the server has received the last message. Returns the longest silence since the last proof, which the
    /// connection has survived. Returns `nil` if there was no silence, or if the pong of a ping is missing.
    ///
    /// A frame between a ping and its pong proves nothing, because the server may have sent the frame before the
    /// network cut the connection.
    mutating func prove() -> Duration? {
        guard !isPongAwaited, unproven > .zero else { return nil }
        defer { unproven = .zero }
        survived = max(survived, unproven)
        return unproven
    }
}
