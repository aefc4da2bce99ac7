/// Finds out whether the server is still there: after the activity timeout without a frame the client pings, and after
/// the pong timeout without a frame it drops the connection (protocol clause 7.1).
package struct LivenessStateMachine: Hashable, Sendable {
    package enum State: Hashable, Sendable {
        /// Frames keep coming, or the silence is still short. The timer is not set again for each frame: when it fires,
        /// the silence is measured.
        case listening(lastActivity: Instant)
        /// A ping was sent, and the answer may take so long from then on.
        case awaitingPong(since: Instant, timeout: Duration, wasSuspended: Bool)
    }

    package enum Action: Hashable, Sendable {
        /// Set the activity timer; the pong timer is not needed.
        case listen(for: Duration)
        /// Send a ping, and set the pong timer; the activity timer is not needed.
        case ping(timeout: Duration)
        /// Drop the connection: nothing came for this time after a ping. If the computer had been suspended before the ping
        /// or since, that is likely to be why.
        case drop(after: Duration, wasSuspended: Bool)
    }

    package private(set) var state: State
    private let activityTimeout: Duration
    private let pongTimeout: Duration

    /// The activity timer runs from now on.
    package init(activityTimeout: Duration, pongTimeout: Duration, now: Instant) {
        self.activityTimeout = activityTimeout
        self.pongTimeout = pongTimeout
        state = .listening(lastActivity: now)
    }

    /// A frame of any kind came.
    package mutating func activity(now: Instant) -> Action? {
        defer { state = .listening(lastActivity: now) }
        switch state {
        case .listening: return nil
        case .awaitingPong: return .listen(for: activityTimeout)
        }
    }

    package mutating func timerFired(now: Instant) -> Action {
        switch state {
        case .listening(let lastActivity):
            let silence = now - lastActivity
            guard silence < activityTimeout else { return awaitPong(wasSuspended: isTooLong(silence), now: now) }
            return .listen(for: activityTimeout - silence)
        case .awaitingPong(_, let timeout, _):
            return .drop(after: timeout, wasSuspended: wasSuspended(now: now))
        }
    }

    /// The event loop's timers stand still while the computer is suspended: whenever something else happens, the silence
    /// is measured again.
    package mutating func catchUp(now: Instant) -> Action? {
        guard case .listening(let lastActivity) = state, now - lastActivity >= activityTimeout else { return nil }
        return awaitPong(wasSuspended: isTooLong(now - lastActivity), now: now)
    }

    /// Whether the server was silent for so long that timers cannot have run: else the client would have pinged or
    /// closed.
    package func wasSuspended(now: Instant) -> Bool {
        switch state {
        case .listening(let lastActivity): isTooLong(now - lastActivity)
        case .awaitingPong(let since, let timeout, let wasSuspended):
            wasSuspended || now - since >= timeout + Self.longestTimerDelay
        }
    }

    private func isTooLong(_ silence: Duration) -> Bool { silence >= activityTimeout + Self.longestTimerDelay }

    /// Timers come late if the event loop is busy, but not by as much.
    static let longestTimerDelay = Duration.seconds(10)

    /// The app wants to know now: the client pings, even if an earlier ping has no answer yet, and the answer may take no
    /// longer than this. The time that an earlier ping has waited counts, or an app that asks again and again would never
    /// hear that the server is gone.
    package mutating func probe(timeout: Duration, now: Instant) -> Action {
        var (since, wait) = (now, min(timeout, pongTimeout))
        // A wait that stood still begins again.
        if case .awaitingPong(let start, let timeout, _) = state, now - start < timeout + Self.longestTimerDelay {
            (since, wait) = (start, min(wait, max(.zero, start + timeout - now)))
        }
        state = .awaitingPong(since: since, timeout: now - since + wait, wasSuspended: wasSuspended(now: now))
        return .ping(timeout: wait)
    }

    private mutating func awaitPong(wasSuspended: Bool, now: Instant) -> Action {
        state = .awaitingPong(since: now, timeout: pongTimeout, wasSuspended: wasSuspended)
        return .ping(timeout: pongTimeout)
    }
}
