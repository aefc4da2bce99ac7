/// A detector for servers that no longer answer. If no frame arrives during the activity timeout, the client pings. If
/// no frame arrives during the pong timeout either, the client drops the connection (protocol clause 7.1).
///
/// The client pings with `pusher:ping`, because every server answers it. Not every server answers WebSocket pings, and
/// one server behaves differently after the first control frame. This machine measures the server's silence, and
/// ``KeepAlive`` measures the client's.
///
/// After a suspension, and during a check by the app, only a pong of a ping that the client has sent since then is an
/// answer. Other frames may have waited in a buffer since before the connection died.
package struct LivenessStateMachine: Hashable, Sendable {
    package enum State: Hashable, Sendable {
        /// Frames arrive, or the silence is still short. The machine does not restart the timer for each frame.
        /// Instead, it measures the silence when the timer fires.
        case listening(lastActivity: Instant)
        /// The client sent a ping at this time. The timeout is the time limit for the answer. If `needsPong` is false,
        /// any frame is an answer.
        case awaitingPong(since: Instant, timeout: Duration, needsPong: Bool, wasSuspended: Bool)
    }

    package enum Action: Hashable, Sendable {
        /// Set the activity timer, and cancel the pong timer.
        case listen(for: Duration)
        /// Send a ping, set the pong timer, and cancel the activity timer. Only the pong of an awaited ping is an answer.
        /// A later ping that is not awaited changes nothing about that.
        case ping(timeout: Duration, isAwaited: Bool)
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
        switch state {
        case .awaitingPong(_, _, needsPong: true, _):
            return nil
        case _ where wasSuspended(now: now):
            return awaitPong(wasSuspended: true, now: now)
        case .listening:
            state = .listening(lastActivity: now)
            return nil
        case .awaitingPong:
            return listen(now: now)
        }
    }

    /// Handles the pong of the awaited ping.
    package mutating func pongReceived(now: Instant) -> Action? {
        guard case .awaitingPong(let since, let timeout, needsPong: true, _) = state else { return nil }
        // After another suspension, the pong may have waited in a buffer too.
        if isOverdue(since: since, timeout: timeout, now: now) { return awaitPong(wasSuspended: true, now: now) }
        return listen(now: now)
    }

    private mutating func listen(now: Instant) -> Action {
        state = .listening(lastActivity: now)
        return .listen(for: activityTimeout)
    }

    package mutating func timerFired(now: Instant) -> Action {
        switch state {
        case .listening(let lastActivity):
            let silence = now - lastActivity
            guard silence < activityTimeout else { return awaitPong(wasSuspended: isTooLong(silence), now: now) }
            return .listen(for: activityTimeout - silence)
        case .awaitingPong(_, let timeout, _, _):
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
        case .awaitingPong(let since, let timeout, _, let wasSuspended):
            wasSuspended || isOverdue(since: since, timeout: timeout, now: now)
        }
    }

    /// Returns whether the pong timer should have fired long ago.
    private func isOverdue(since: Instant, timeout: Duration, now: Instant) -> Bool {
        now - since >= timeout + Self.longestTimerDelay
    }

    private func isTooLong(_ silence: Duration) -> Bool { silence >= activityTimeout + Self.longestTimerDelay }

    /// The longest delay of a timer on a busy event loop.
    static let longestTimerDelay = Duration.seconds(10)

    /// Checks the connection at once, because the app requested a check. The client pings even if an earlier ping has
    /// no answer yet. The time limit includes the time since the earlier ping, so that repeated checks can still detect
    /// a silent server. The client waits for the pong of its first check, so that frequent checks do not drop a
    /// connection that is only slow.
    package mutating func probe(timeout: Duration, now: Instant) -> Action {
        var (since, wait, isAwaited) = (now, min(timeout, pongTimeout), true)
        // If the pong timer is overdue, it did not run, so the wait starts again.
        if case .awaitingPong(let start, let timeout, let needsPong, _) = state,
            !isOverdue(since: start, timeout: timeout, now: now)
        {
            (since, wait, isAwaited) = (start, min(wait, max(.zero, start + timeout - now)), !needsPong)
        }
        let wasSuspended = wasSuspended(now: now)
        state = .awaitingPong(since: since, timeout: now - since + wait, needsPong: true, wasSuspended: wasSuspended)
        return .ping(timeout: wait, isAwaited: isAwaited)
    }

    private mutating func awaitPong(wasSuspended: Bool, now: Instant) -> Action {
        state = .awaitingPong(
            since: now,
            timeout: pongTimeout,
            needsPong: wasSuspended,
            wasSuspended: wasSuspended
        )
        return .ping(timeout: pongTimeout, isAwaited: wasSuspended)
    }
}
