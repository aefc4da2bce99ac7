/// One question to an authorizer. Each retry is another try of the same authorization; an answer to a try that is not
/// current is ignored.
package struct AuthorizationTry: Hashable, Sendable {
    package let id: AuthorizationID
    package let number: Int

    package init(_ id: AuthorizationID, number: Int) {
        self.id = id
        self.number = number
    }
}

/// All authorizations that are wanted: as many of channels at once as allowed, and the user's; each with a time limit, retried where that can help.
///
/// They are tied to the connection they were begun for: when it ends, ``cancelAll(into:)`` ends them too.
package struct AuthorizationStateMachine: Hashable, Sendable {
    package enum Phase: Hashable, Sendable {
        /// As many as allowed are being asked already.
        case queued
        /// Handed over. The time runs from when it is begun, until when the timer is nil.
        case asking(timer: TimerID?)
        /// The retry policy is being asked.
        case deciding(RetryQuestionID, AuthorizationError)
        case pausing(timer: TimerID)
    }

    package struct Job: Hashable, Sendable {
        package var question: AuthorizationQuestion
        package var maximumTries: Int
        package var number = 0
        package var phase = Phase.queued
        package var hasAskedOnceMore = false
        package var since: Instant

        var isUser: Bool { question.subject == .user }
        /// The tries that the limit is for.
        var countedTries: Int { hasAskedOnceMore ? number - 1 : number }
    }

    /// How an authorization ended.
    package struct Outcome: Hashable, Sendable {
        package var id: AuthorizationID
        package var subject: AuthorizationQuestion.Subject
        package var result: Result<Authorization, AuthorizationError>
    }

    package private(set) var jobs: [AuthorizationID: Job] = [:]
    package internal(set) var statistics = PusherStatistics.Authorizations()
    /// Those that are queued, in order, from `head` on; some may have been cancelled since.
    private var queue: [AuthorizationID] = []
    private var head = 0
    /// How many channels' are being asked for.
    private var asking = 0
    private var timers: [TimerID: AuthorizationID] = [:]
    private var questions: [RetryQuestionID: AuthorizationID] = [:]
    private var serial: UInt64 = 0

    package init() {}

    package var isEmpty: Bool { jobs.isEmpty }

    package mutating func begin(
        _ question: AuthorizationQuestion,
        maximumTries: Int,
        _ configuration: CoreConfiguration,
        now: Instant,
        into effects: inout [Effect]
    ) -> AuthorizationID {
        let id = AuthorizationID(rawValue: nextSerial())
        jobs[id] = Job(question: question, maximumTries: maximumTries, since: now)
        statistics.begun += 1
        enqueue(id, into: &effects)
        askNext(configuration, into: &effects)
        return id
    }

    /// Nobody wants the answer any more. ``askNext(_:into:)`` is to follow.
    package mutating func cancel(_ id: AuthorizationID, into effects: inout [Effect]) { end(id, into: &effects) }

    /// The connection is gone: no answer can be used.
    package mutating func cancelAll(into effects: inout [Effect]) {
        for id in jobs.keys.sorted() { end(id, into: &effects) }
        queue = []
        head = 0
    }

    /// Asks for those whose turn has come.
    package mutating func askNext(_ configuration: CoreConfiguration, into effects: inout [Effect]) {
        while asking < max(configuration.authorizationsAtOnce, 1), head < queue.count {
            let id = queue[head]
            head += 1
            if jobs[id]?.phase == .queued { ask(id, into: &effects) }
        }
        // What is in front was asked for. It goes when it is more than what is left, so that each is moved once or twice.
        if head > queue.count / 2 {
            queue.removeFirst(head)
            head = 0
        }
    }

    /// Authorizers are being asked: each has so much time.
    package mutating func began(
        _ tries: [AuthorizationTry],
        _ configuration: CoreConfiguration,
        into effects: inout [Effect]
    ) {
        for begun in tries where jobs[begun.id]?.phase == .asking(timer: nil) {
            guard jobs[begun.id]?.number == begun.number else { continue }
            statistics.tries += 1
            let timer = makeTimer(of: begun.id)
            jobs[begun.id]?.phase = .asking(timer: timer)
            effects.append(.schedule(timer, after: configuration.timeouts.authorization))
        }
    }

    package mutating func answered(
        _ answered: AuthorizationTry,
        _ result: Result<Authorization, AuthorizationError>,
        _ configuration: CoreConfiguration,
        now: Instant,
        into effects: inout [Effect]
    ) -> Outcome? {
        guard case .asking(let timer)? = jobs[answered.id]?.phase, jobs[answered.id]?.number == answered.number else {
            return nil
        }
        stop(timer, into: &effects)
        return settle(answered.id, result, configuration, now: now, into: &effects)
    }

    package mutating func timerFired(
        _ timer: TimerID,
        _ configuration: CoreConfiguration,
        now: Instant,
        into effects: inout [Effect]
    ) -> Outcome? {
        guard let id = timers.removeValue(forKey: timer), let job = jobs[id] else { return nil }
        switch job.phase {
        case .asking:
            effects.append(.cancelAuthorization(AuthorizationTry(id, number: job.number)))
            let error = AuthorizationError(
                .timedOut,
                "no authorization came within \(configuration.timeouts.authorization)",
                recovery: .retry(after: .zero)
            )
            return settle(id, .failure(error), configuration, now: now, into: &effects)
        case .pausing:
            enqueue(id, into: &effects)
            askNext(configuration, into: &effects)
            return nil
        case .queued, .deciding:
            return nil
        }
    }

    package mutating func retryDecided(
        _ question: RetryQuestionID,
        delay: Duration?,
        _ configuration: CoreConfiguration,
        now: Instant,
        into effects: inout [Effect]
    ) -> Outcome? {
        guard let id = questions.removeValue(forKey: question), case .deciding(_, let error)? = jobs[id]?.phase else {
            return nil
        }
        guard let delay else { return finish(id, .failure(error), configuration, now: now, into: &effects) }
        let timer = makeTimer(of: id)
        jobs[id]?.phase = .pausing(timer: timer)
        effects.append(.schedule(timer, after: max(delay, error.earliestRetry, .zero)))
        return nil
    }

    // MARK: One authorization

    private mutating func ask(_ id: AuthorizationID, into effects: inout [Effect]) {
        guard var job = jobs[id] else { return }
        job.number += 1
        job.phase = .asking(timer: nil)
        jobs[id] = job
        if !job.isUser { asking += 1 }
        effects.append(.authorize(AuthorizationTry(id, number: job.number), job.question))
    }

    /// The outcome of a try; nil where another one follows.
    private mutating func settle(
        _ id: AuthorizationID,
        _ result: Result<Authorization, AuthorizationError>,
        _ configuration: CoreConfiguration,
        now: Instant,
        into effects: inout [Effect]
    ) -> Outcome? {
        if jobs[id]?.isUser == false { asking -= 1 }
        guard var job = jobs[id], case .failure(let error) = result else {
            return finish(id, result, configuration, now: now, into: &effects)
        }
        switch error.recovery {
        case .askOnceMore where !job.hasAskedOnceMore:
            job.hasAskedOnceMore = true
            jobs[id] = job
            enqueue(id, into: &effects)
            askNext(configuration, into: &effects)
            return nil
        case .retry where job.countedTries < job.maximumTries:
            let question = RetryQuestionID(.authorization, nextSerial())
            questions[question] = id
            job.phase = .deciding(question, error)
            jobs[id] = job
            let context = RetryQuestion(
                retryCount: job.countedTries - 1,
                elapsed: now - job.since,
                reason: PusherClientError(.authorizationFailed, error.message, cause: error),
                minimumDelay: error.earliestRetry
            )
            effects.append(.askRetryPolicy(question, context))
            askNext(configuration, into: &effects)
            return nil
        case .none, .askOnceMore, .retry:
            return finish(id, result, configuration, now: now, into: &effects)
        }
    }

    /// The user does not wait for thousands of channels, some of which may wait for the user.
    private mutating func enqueue(_ id: AuthorizationID, into effects: inout [Effect]) {
        jobs[id]?.phase = .queued
        if jobs[id]?.isUser == true { ask(id, into: &effects) } else { queue.append(id) }
    }

    private mutating func finish(
        _ id: AuthorizationID,
        _ result: Result<Authorization, AuthorizationError>,
        _ configuration: CoreConfiguration,
        now: Instant,
        into effects: inout [Effect]
    ) -> Outcome? {
        guard let job = jobs.removeValue(forKey: id) else { return nil }
        switch result {
        case .success:
            statistics.succeeded += 1
            statistics.latency.add(now - job.since)
        case .failure:
            statistics.failed += 1
        }
        askNext(configuration, into: &effects)
        return Outcome(id: id, subject: job.question.subject, result: result)
    }

    private mutating func end(_ id: AuthorizationID, into effects: inout [Effect]) {
        guard let job = jobs.removeValue(forKey: id) else { return }
        statistics.cancelled += 1
        switch job.phase {
        case .queued:
            break
        case .asking(let timer):
            if !job.isUser { asking -= 1 }
            stop(timer, into: &effects)
            effects.append(.cancelAuthorization(AuthorizationTry(id, number: job.number)))
        case .deciding(let question, _):
            questions[question] = nil
        case .pausing(let timer):
            stop(timer, into: &effects)
        }
    }

    private mutating func stop(_ timer: TimerID?, into effects: inout [Effect]) {
        guard let timer else { return }
        timers[timer] = nil
        effects.append(.cancel(timer))
    }

    private mutating func makeTimer(of id: AuthorizationID) -> TimerID {
        let timer = TimerID(.authorization, nextSerial())
        timers[timer] = id
        return timer
    }

    private mutating func nextSerial() -> UInt64 {
        serial += 1
        return serial
    }
}

extension AuthorizationError {
    /// The time before which another try is of no use.
    fileprivate var earliestRetry: Duration {
        if case .retry(let delay) = recovery { delay } else { .zero }
    }
}
