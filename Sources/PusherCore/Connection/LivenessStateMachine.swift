/// Finds out whether the server is still there: after the activity timeout without a frame it asks for a ping, and
/// after the pong timeout without a frame it gives the connection up (protocol clause 7.1).
package struct LivenessStateMachine: Hashable, Sendable {
    package enum State: Hashable, Sendable {
        case stopped
        /// Frames keep coming, or the silence is still short. The timer is not set anew for each frame: when it fires
        /// it looks at how long the silence has lasted.
        case listening(timer: TimerID, lastActivity: Instant)
        /// A ping was sent, and the answer may take so long from then on.
        case awaitingPong(timer: TimerID, since: Instant, timeout: Duration, wasSuspended: Bool)
    }

    /// What the owner has to do.
    package enum Verdict: Hashable, Sendable {
        case alive
        case sendPing
        /// A ping was not answered for this time. Where the machine had been suspended before it or since, that is
        /// likely to be why.
        case dead(after: Duration, wasSuspended: Bool)
    }

    package private(set) var state: State = .stopped
    private var activityTimeout: Duration = .zero
    private var pongTimeout: Duration = .zero
    private var serial: UInt64 = 0

    package init() {}

    package mutating func start(
        activityTimeout: Duration,
        pongTimeout: Duration,
        now: Instant,
        into effects: inout [Effect]
    ) {
        stop(into: &effects)
        self.activityTimeout = activityTimeout
        self.pongTimeout = pongTimeout
        listen(since: now, for: activityTimeout, into: &effects)
    }

    package mutating func stop(into effects: inout [Effect]) {
        switch state {
        case .stopped: break
        case .listening(let timer, _), .awaitingPong(let timer, _, _, _): effects.append(.cancel(timer))
        }
        state = .stopped
    }

    /// A frame of any kind came.
    package mutating func activity(now: Instant, into effects: inout [Effect]) {
        switch state {
        case .stopped: break
        case .listening(let timer, _):
            state = .listening(timer: timer, lastActivity: now)
        case .awaitingPong(let timer, _, _, _):
            effects.append(.cancel(timer))
            listen(since: now, for: activityTimeout, into: &effects)
        }
    }

    package mutating func timerFired(_ id: TimerID, now: Instant, into effects: inout [Effect]) -> Verdict {
        switch state {
        case .listening(id, let lastActivity):
            let silence = now - lastActivity
            guard silence < activityTimeout else {
                awaitPong(for: pongTimeout, wasSuspended: isOverslept(silence), now: now, into: &effects)
                return .sendPing
            }
            listen(since: lastActivity, for: activityTimeout - silence, into: &effects)
            return .alive
        case .awaitingPong(id, _, let timeout, _):
            let wasSuspended = hasOverslept(now: now)
            state = .stopped
            return .dead(after: timeout, wasSuspended: wasSuspended)
        case .stopped, .listening, .awaitingPong:
            return .alive
        }
    }

    /// The event loop's timers stand still while the computer is suspended: whenever something else happens, the
    /// silence is measured again.
    package mutating func catchUp(now: Instant, into effects: inout [Effect]) -> Verdict {
        guard case .listening(let timer, let lastActivity) = state, now - lastActivity >= activityTimeout else {
            return .alive
        }
        effects.append(.cancel(timer))
        awaitPong(for: pongTimeout, wasSuspended: isOverslept(now - lastActivity), now: now, into: &effects)
        return .sendPing
    }

    /// Whether the server has been silent for longer than it can have been while timers run: it would have been sent a
    /// ping, or been given up.
    package func hasOverslept(now: Instant) -> Bool {
        switch state {
        case .listening(_, let lastActivity): isOverslept(now - lastActivity)
        case .awaitingPong(_, let since, let timeout, let wasSuspended):
            wasSuspended || now - since >= timeout + Self.lateness
        case .stopped: false
        }
    }

    private func isOverslept(_ silence: Duration) -> Bool { silence >= activityTimeout + Self.lateness }

    /// Timers come late where the event loop is busy, but not by as much.
    static let lateness = Duration.seconds(10)

    /// Whoever asks wants to know now: a ping is sent, whether or not one is on its way, and the answer may take no
    /// longer than this. Where one is on its way, the wait for it goes on: whoever asks again and again would never hear
    /// that the server is gone.
    package mutating func probe(timeout: Duration, now: Instant, into effects: inout [Effect]) {
        let wasSuspended = hasOverslept(now: now)
        var (since, wait) = (now, min(timeout, pongTimeout))
        switch state {
        case .stopped: return
        case .listening(let timer, _):
            effects.append(.cancel(timer))
        case .awaitingPong(let timer, let start, let timeout, _):
            effects.append(.cancel(timer))
            // One that stood still is begun anew; one that was begun after that is not.
            if now - start < timeout + Self.lateness {
                (since, wait) = (start, min(wait, max(.zero, start + timeout - now)))
            }
        }
        awaitPong(since: since, for: wait, wasSuspended: wasSuspended, now: now, into: &effects)
    }

    private mutating func listen(since lastActivity: Instant, for wait: Duration, into effects: inout [Effect]) {
        let timer = nextTimer(.activity)
        state = .listening(timer: timer, lastActivity: lastActivity)
        effects.append(.schedule(timer, after: wait))
    }

    /// - Parameters:
    ///   - since: When the first ping was sent that is not answered; nil for now.
    ///   - wait: How long the answer may take from now on.
    private mutating func awaitPong(
        since: Instant? = nil,
        for wait: Duration,
        wasSuspended: Bool,
        now: Instant,
        into effects: inout [Effect]
    ) {
        let timer = nextTimer(.pong)
        let since = since ?? now
        state = .awaitingPong(timer: timer, since: since, timeout: now - since + wait, wasSuspended: wasSuspended)
        effects.append(.schedule(timer, after: wait))
    }

    private mutating func nextTimer(_ purpose: TimerID.Purpose) -> TimerID {
        serial += 1
        return TimerID(purpose, serial)
    }
}
