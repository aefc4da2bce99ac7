/// The part of a client's state machine that decides when the client connects: attempts, losses, questions to the retry
/// policy, and waits. The machine handles everything else about a connection.
///
/// The reconnector has no clock, timer or closure. Its times are times of the machine's clock, which continues while
/// the computer is suspended. The machine calls ``wake(now:)`` at ``wakeUp``, and after a suspension as soon as it
/// notices that this time is over.
package struct Reconnector<Reason: Hashable & Sendable>: Hashable, Sendable {
    /// The number of an attempt to connect, and of the resulting connection. The first attempt has the number 1. The
    /// machine ignores an input if its number is not the current ``attempt``.
    package typealias Attempt = Int

    package enum Phase: Hashable, Sendable {
        case idle
        /// An attempt is under way. It must lead to a connection until this time; `nil` for no limit.
        case opening(until: Duration?)
        case open(since: Duration)
        /// The retry policy decides whether there is another attempt.
        case asking(Question)
        case waiting(until: Duration)
        /// The client makes no more attempts.
        case ended
    }

    package enum Action: Hashable, Sendable {
        /// Begin the attempt.
        case open(Attempt)
        /// Abort the attempt, because it takes too long, and report the loss.
        case timeOut(Attempt)
        /// Ask the retry policy, and answer with ``decided(_:delay:now:)``.
        case ask(Question)
        /// Report that the client waits until this time before the attempt with this number.
        case wait(until: Duration, attempt: Attempt, Reason)
        /// Stop for this reason.
        case stop(Reason)
    }

    /// The reaction to a loss or a failed attempt.
    package enum Reaction: Hashable, Sendable {
        /// The client asks the retry policy, and waits for at least the minimum.
        case ask(minimumDelay: Duration = .zero)
        case stop
    }

    /// A question to the retry policy after an attempt. There is at most one question for each attempt.
    package struct Question: Hashable, Sendable {
        package var attempt: Attempt
        package var retryCount: Int
        package var elapsed: Duration
        package var reason: Reason
        package var minimumDelay: Duration

        package init(
            _ attempt: Attempt,
            retryCount: Int,
            elapsed: Duration,
            reason: Reason,
            minimumDelay: Duration = .zero
        ) {
            self.attempt = attempt
            self.retryCount = retryCount
            self.elapsed = elapsed
            self.reason = reason
            self.minimumDelay = minimumDelay
        }
    }

    /// The time limit for an attempt; `nil` for no limit.
    private let attemptTimeout: Duration?
    /// The time after which an open connection resets the number of retries.
    private let backOffReset: Duration
    package private(set) var phase = Phase.idle
    /// The number of the current or last attempt; 0 before the first attempt.
    package private(set) var attempt: Attempt = 0
    /// The number of retries since the last reset, or since the client stopped.
    package private(set) var retryCount = 0
    /// The time at which the connection was lost, or of the first attempt if there was no connection before; `nil` while
    /// there is a connection.
    package private(set) var outageStart: Duration?

    package init(attemptTimeout: Duration?, backOffReset: Duration) {
        self.attemptTimeout = attemptTimeout
        self.backOffReset = backOffReset
    }

    /// The time of the next call of ``wake(now:)``; `nil` if the reconnector needs no call.
    package var wakeUp: Duration? {
        switch phase {
        case .opening(let until): until
        case .waiting(let until): until
        case .idle, .open, .asking, .ended: nil
        }
    }

    // MARK: Inputs

    /// Begins an attempt, in any phase. The machine has to abort an earlier attempt.
    package mutating func open(now: Duration) -> Action {
        outageBegan(now: now)
        attempt += 1
        phase = .opening(until: attemptTimeout.map { now + $0 })
        return .open(attempt)
    }

    package mutating func opened(now: Duration) {
        outageStart = nil
        phase = .open(since: now)
    }

    /// Whether the connection has been open for so long that a loss resets the number of retries.
    package func hasLasted(now: Duration) -> Bool {
        if case .open(let since) = phase { now - since >= backOffReset } else { false }
    }

    package mutating func resetBackOff() { retryCount = 0 }

    /// Notes the time of a loss that ``lost(_:_:now:)`` follows later.
    package mutating func outageBegan(now: Duration) { outageStart = outageStart ?? now }

    /// Handles the loss of the connection, or the failure of an attempt.
    package mutating func lost(_ reason: Reason, _ reaction: Reaction, now: Duration) -> Action {
        outageBegan(now: now)
        switch reaction {
        case .ask(let minimumDelay):
            let question = Question(
                attempt,
                retryCount: retryCount,
                elapsed: now - (outageStart ?? now),
                reason: reason,
                minimumDelay: minimumDelay
            )
            phase = .asking(question)
            return .ask(question)
        case .stop:
            stop()
            return .stop(reason)
        }
    }

    /// Handles the answer of the retry policy.
    ///
    /// - Parameter delay: The wait before the next attempt; `nil` to stop.
    package mutating func decided(_ attempt: Attempt, delay: Duration?, now: Duration) -> Action? {
        guard case .asking(let question) = phase, attempt == self.attempt else { return nil }
        guard let delay else {
            stop()
            return .stop(question.reason)
        }
        retryCount += 1
        let until = now + min(max(delay, question.minimumDelay, .zero), Self.longestDelay)
        phase = .waiting(until: until)
        return .wait(until: until, attempt: attempt + 1, question.reason)
    }

    /// The maximum delay. A policy may return any duration, and the sum of two durations must not overflow.
    package static var longestDelay: Duration { .seconds(365 * 86_400) }

    /// Handles the end of an attempt's time, or of a wait.
    package mutating func wake(now: Duration) -> Action? {
        guard let wakeUp, wakeUp <= now else { return nil }
        return if case .waiting = phase { open(now: now) } else { .timeOut(attempt) }
    }

    /// Ends all attempts. If the app connects again, the reconnector counts from zero.
    package mutating func stop() {
        outageStart = nil
        retryCount = 0
        phase = .ended
    }
}

extension RetryContext {
    /// - Parameter random: A random number in `0..<1`.
    package init<Reason: Error>(
        _ question: Reconnector<Reason>.Question,
        closeCode: Int? = nil,
        random: Double = .random(in: 0..<1)
    ) {
        self.init(
            retryCount: question.retryCount,
            elapsed: question.elapsed,
            reason: question.reason,
            closeCode: closeCode,
            minimumDelay: question.minimumDelay,
            random: random
        )
    }
}
