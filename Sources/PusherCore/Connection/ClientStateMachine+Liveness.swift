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

    mutating func ping(now: Instant, into effects: inout [Effect]) {
        statistics.pings.sent += 1
        connection.session?.pingStopwatch.sent(now: now, patience: configuration.timeouts.pong)
        connection.session?.clientSilence.pinged()
        send(.ping, into: &effects)
    }

    mutating func ponged(now: Instant) {
        guard let (isAnswer, time) = connection.session?.pingStopwatch.answered(now: now) else { return }
        if connection.session?.clientSilence.ponged() == true { pingCameThrough() }
        if isAnswer { statistics.pings.answered += 1 } else { countIgnored() }
        if let time { statistics.pings.roundTrip.add(time) }
    }

    /// Handles an answer that proves that the server has received a ping.
    mutating func pingCameThrough() {
        keepAlive.pingAnswered()
        if let silence = connection.session?.clientSilence.prove() { keepAlive.survived(silence) }
    }
}
