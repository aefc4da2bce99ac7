/// Finds out whether the server is still there: after the activity timeout without a frame it asks for a ping, and
/// after the pong timeout without a frame it gives the connection up (protocol clause 7.1).
package struct LivenessStateMachine: Hashable, Sendable {
    package enum State: Hashable, Sendable {
        case stopped
        /// Frames keep coming, or the silence is still short. The timer is not set anew for each frame: when it fires
        /// it looks at how long the silence has lasted.
        case listening(timer: TimerID, lastActivity: Instant)
        /// A ping was sent, and the answer may take so long.
        case awaitingPong(timer: TimerID, timeout: Duration)
    }

    /// What the owner has to do.
    package enum Verdict: Hashable, Sendable {
        case alive
        case sendPing
        /// A ping was not answered for this time.
        case dead(after: Duration)
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
        case .listening(let timer, _), .awaitingPong(let timer, _): effects.append(.cancel(timer))
        }
        state = .stopped
    }

    /// A frame of any kind came.
    package mutating func activity(now: Instant, into effects: inout [Effect]) {
        switch state {
        case .stopped: break
        case .listening(let timer, _):
            state = .listening(timer: timer, lastActivity: now)
        case .awaitingPong(let timer, _):
            effects.append(.cancel(timer))
            listen(since: now, for: activityTimeout, into: &effects)
        }
    }

    package mutating func timerFired(_ id: TimerID, now: Instant, into effects: inout [Effect]) -> Verdict {
        switch state {
        case .listening(id, let lastActivity):
            let silence = now - lastActivity
            guard silence < activityTimeout else {
                awaitPong(for: pongTimeout, into: &effects)
                return .sendPing
            }
            listen(since: lastActivity, for: activityTimeout - silence, into: &effects)
            return .alive
        case .awaitingPong(id, let timeout):
            state = .stopped
            return .dead(after: timeout)
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
        awaitPong(for: pongTimeout, into: &effects)
        return .sendPing
    }

    /// Whoever asks wants to know now: a ping is sent, whether or not one is on its way, and the answer may take no
    /// longer than this.
    package mutating func probe(timeout: Duration, into effects: inout [Effect]) {
        switch state {
        case .stopped: return
        case .listening(let timer, _), .awaitingPong(let timer, _): effects.append(.cancel(timer))
        }
        awaitPong(for: min(timeout, pongTimeout), into: &effects)
    }

    private mutating func listen(since lastActivity: Instant, for wait: Duration, into effects: inout [Effect]) {
        let timer = nextTimer(.activity)
        state = .listening(timer: timer, lastActivity: lastActivity)
        effects.append(.schedule(timer, after: wait))
    }

    private mutating func awaitPong(for timeout: Duration, into effects: inout [Effect]) {
        let timer = nextTimer(.pong)
        state = .awaitingPong(timer: timer, timeout: timeout)
        effects.append(.schedule(timer, after: timeout))
    }

    private mutating func nextTimer(_ purpose: TimerID.Purpose) -> TimerID {
        serial += 1
        return TimerID(purpose, serial)
    }
}
