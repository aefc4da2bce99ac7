import PusherProtocol

/// Uses frames, pings and pongs to detect whether the server still answers.
extension ClientStateMachine {
    /// Handles a frame of any kind on the current connection.
    mutating func frameReceived(now: Instant, into effects: inout [Effect]) {
        guard let (action, silence) = connection.changeSession({ $0.frameReceived(now: now) }) else { return }
        if let action { perform(action, now: now, into: &effects) }
        if let silence { keepAlive.survived(silence) }
    }

    mutating func keepAliveTimerFired(now: Instant, into effects: inout [Effect]) {
        guard let interval = keepAlive.interval, let lastSent = session?.clientSilence.lastSent else { return }
        let silence = now - lastSent
        let isDue = silence >= interval
        timers.set(.keepAlive, after: isDue ? interval : interval - silence, into: &effects)
        if isDue { ping(now: now, into: &effects) }
    }

    /// - Parameter isAwaited: See ``LivenessStateMachine/Action``.
    mutating func ping(isAwaited: Bool = false, now: Instant, into effects: inout [Effect]) {
        statistics.pings.sent += 1
        let patience = configuration.timeouts.pong
        connection.session?.pingStopwatch.sent(now: now, patience: patience, isAwaited: isAwaited)
        connection.session?.clientSilence.pinged()
        send(.ping, into: &effects)
    }

    mutating func ponged(now: Instant, into effects: inout [Effect]) {
        if connection.session?.clientSilence.ponged() == true { pingCameThrough() }
        let answer = stopwatchAnswered(now: now, into: &effects)
        if answer?.isAnswer == true { statistics.pings.answered += 1 } else { countIgnored() }
        if let time = answer?.time { statistics.pings.roundTrip.add(time) }
    }

    /// Handles the server's error about a ping. Returns `false` if the error is not about a ping.
    mutating func pingRejected(now: Instant, into effects: inout [Effect]) -> Bool {
        guard let activityTimeout = session?.activityTimeout, connection.session?.clientSilence.ponged() == true else {
            return false
        }
        keepAlive.pingRejected(activityTimeout: activityTimeout)
        pingCameThrough()
        _ = stopwatchAnswered(now: now, into: &effects)
        return true
    }

    /// Handles an answer that proves that the server has received a ping.
    private mutating func pingCameThrough() {
        keepAlive.pingAnswered()
        if let silence = connection.session?.clientSilence.prove() { keepAlive.survived(silence) }
    }

    private mutating func stopwatchAnswered(
        now: Instant,
        into effects: inout [Effect]
    ) -> PingStopwatch.Answer? {
        let answer = connection.session?.pingStopwatch.answered(now: now)
        if answer?.isAwaited == true {
            perform(connection.session?.liveness.pongReceived(now: now), now: now, into: &effects)
        }
        return answer
    }
}
