/// Detects whether the server is still there. After the activity timeout without a frame the client pings. After the
/// pong timeout without a frame it drops the connection (protocol clause 7.1).
package struct LivenessStateMachine: Hashable, Sendable {
    package enum State: Hashable, Sendable {
        /// Frames arrive, or the silence is still short. The timer is not set again for each frame. When it fires, the
        /// silence is measured.
        case listening(lastActivity: Instant)
        /// A ping was sent at this time, and the answer may take this long.
        case awaitingPong(since: Instant, timeout: Duration, wasSuspended: Bool)
    }

    package enum Action: Hashable, Sendable {
        /// Set the activity timer, and cancel the pong timer.
        case listen(for: Duration)
        /// Send a ping, set the pong timer, and cancel the activity timer.
        case ping(timeout: Duration)
        /// Drop the connection, because nothing came for this time after a ping. If the computer was suspended before
        /// the ping or since, that is the likely reason.
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

    /// Handles a frame of any kind.
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

    /// The event loop's timers do not run while the computer is suspended, so every other event measures the silence
    /// again.
    package mutating func catchUp(now: Instant) -> Action? {
        guard case .listening(let lastActivity) = state, now - lastActivity >= activityTimeout else { return nil }
        return awaitPong(wasSuspended: isTooLong(now - lastActivity), now: now)
    }

    /// Whether the server was silent for so long that timers cannot have run. Otherwise the client would have pinged or
    /// closed.
    package func wasSuspended(now: Instant) -> Bool {
        switch state {
        case .listening(let lastActivity): isTooLong(now - lastActivity)
        case .awaitingPong(let since, let timeout, let wasSuspended):
            wasSuspended || now - since >= timeout + Self.longestTimerDelay
        }
    }

    private func isTooLong(_ silence: Duration) -> Bool { silence >= activityTimeout + Self.longestTimerDelay }

    /// Timers are late if the event loop is busy, but not by as much.
    static let longestTimerDelay = Duration.seconds(10)

    /// The app wants to know now. The client pings, even if an earlier ping has no answer yet, and the answer may take
    /// at most this long. The time that an earlier ping has waited counts. Otherwise an app that calls this again and
    /// again would never learn that the server is gone.
    package mutating func probe(timeout: Duration, now: Instant) -> Action {
        var (since, wait) = (now, min(timeout, pongTimeout))
        // A wait that did not run starts again.
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
