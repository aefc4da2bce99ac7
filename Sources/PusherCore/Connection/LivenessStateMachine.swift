/// A detector for servers that no longer answer. If no frame arrives during the activity timeout, the client pings. If
/// no frame arrives during the pong timeout either, the client drops the connection (protocol clause 7.1).
package struct LivenessStateMachine: Hashable, Sendable {
    package enum State: Hashable, Sendable {
        /// Frames arrive, or the silence is still short. The machine does not restart the timer for each frame.
        /// Instead, it measures the silence when the timer fires.
        case listening(lastActivity: Instant)
        /// The client sent a ping at this time. The timeout is the time limit for the answer.
        case awaitingPong(since: Instant, timeout: Duration, wasSuspended: Bool)
    }

    package enum Action: Hashable, Sendable {
        /// Set the activity timer, and cancel the pong timer.
        case listen(for: Duration)
        /// Send a ping, set the pong timer, and cancel the activity timer.
        case ping(timeout: Duration)
        /// Drop the connection, because the server sent nothing for this time after a ping. If the computer was
        /// suspended before or after the ping, the suspension is the likely reason.
        case drop(after: Duration, wasSuspended: Bool)
    }

    package private(set) var state: State
    private let activityTimeout: Duration
    private let pongTimeout: Duration

    /// Creates the machine. The first silence of the server begins at `now`.
    package init(activityTimeout: Duration, pongTimeout: Duration, now: Instant) {
        self.activityTimeout = activityTimeout
        self.pongTimeout = pongTimeout
        state = .listening(lastActivity: now)
    }

    /// Handles a frame of any kind.
    package mutating func frameReceived(now: Instant) -> Action? {
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

    /// Measures the silence without a timer, because the event loop's timers do not run while the computer is
    /// suspended.
    package mutating func catchUp(now: Instant) -> Action? {
        guard case .listening(let lastActivity) = state, now - lastActivity >= activityTimeout else { return nil }
        return awaitPong(wasSuspended: isTooLong(now - lastActivity), now: now)
    }

    /// Returns whether the server was silent for so long that the timers cannot have run. If the timers had run, the
    /// client would have pinged or closed the connection.
    package func wasSuspended(now: Instant) -> Bool {
        switch state {
        case .listening(let lastActivity): isTooLong(now - lastActivity)
        case .awaitingPong(let since, let timeout, let wasSuspended):
            wasSuspended || now - since >= timeout + Self.longestTimerDelay
        }
    }

    private func isTooLong(_ silence: Duration) -> Bool { silence >= activityTimeout + Self.longestTimerDelay }

    /// The longest delay of a timer on a busy event loop.
    static let longestTimerDelay = Duration.seconds(10)

    /// Checks the connection at once, because the app requested a check. The client pings even if an earlier ping has
    /// no answer yet. The time limit includes the time since the earlier ping, so that repeated checks can still detect
    /// a silent server.
    package mutating func probe(timeout: Duration, now: Instant) -> Action {
        var (since, wait) = (now, min(timeout, pongTimeout))
        // If the pong timer is overdue, it did not run, so the wait starts again.
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
