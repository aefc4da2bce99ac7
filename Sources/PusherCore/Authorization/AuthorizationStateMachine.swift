/// All authorizations of a connection: those of channels, limited in the number of requests at once, and the user's.
/// Each has a time limit, and is retried if that can help.
package struct AuthorizationStateMachine: Hashable, Sendable {
    package enum Phase: Hashable, Sendable {
        /// It waits for its own request, or one that it can share.
        case queued
        /// The request is `nil` for the user's authorization, which does not count.
        case asking(request: UInt64?)
        /// The retry policy decides.
        case deciding(AuthorizationError)
        case pausing
    }

    package struct Job: Hashable, Sendable {
        package var question: AuthorizationQuestion
        package var maximumTries: Int
        package var number = 0
        package var phase = Phase.queued
        package var hasAskedOnceMore = false
        package var since: Instant

        var isUser: Bool { question.subject == .user }
        /// The tries that count toward the limit.
        var countedTries: Int { hasAskedOnceMore ? number - 1 : number }
    }

    /// How an authorization ended.
    package struct Outcome: Hashable, Sendable {
        package var id: AuthorizationID
        package var subject: AuthorizationQuestion.Subject
        package var result: Result<Authorization, AuthorizationError>
        /// From its begin.
        package var duration: Duration
    }

    package enum Action: Hashable, Sendable {
        /// Call ``gathered(batchSize:_:)`` in another turn of the loop.
        case gather
        /// Make one request.
        case ask([AuthorizationTry: AuthorizationQuestion])
        /// Cancel a try whose answer is no longer needed.
        case cancel(AuthorizationTry)
        case setTimer(AuthorizationID, after: Duration)
        case cancelTimer(AuthorizationID)
        case askRetryPolicy(AuthorizationTry, RetryQuestion)
        case finish(Outcome)
    }

    package private(set) var jobs: [AuthorizationID: Job] = [:]
    /// The queued questions, in order, from `head` on. Some may have been cancelled.
    private var queue: [AuthorizationID] = []
    private var head = 0
    /// The requests for channels that are under way, with the number of answers that are missing.
    private var requests: [UInt64: Int] = [:]
    private var lastRequest: UInt64 = 0

    package init() {}

    package var isEmpty: Bool { jobs.isEmpty }

    package mutating func begin(
        _ id: AuthorizationID,
        _ question: AuthorizationQuestion,
        maximumTries: Int,
        _ configuration: CoreConfiguration,
        now: Instant
    ) -> [Action] {
        jobs[id] = Job(question: question, maximumTries: maximumTries, since: now)
        return enqueue(id, configuration)
    }

    /// Cancels authorizations that are no longer needed.
    package mutating func cancel(_ ids: [AuthorizationID], _ configuration: CoreConfiguration) -> [Action] {
        ids.flatMap { end($0) } + gather(configuration)
    }

    /// Cancels all authorizations, because answers are useless without the connection.
    package mutating func cancelAll() -> [Action] { jobs.keys.sorted().flatMap { end($0) } }

    /// Questions of this turn of the loop can share a request.
    private func gather(_ configuration: CoreConfiguration) -> [Action] {
        head < queue.count && mayAsk(configuration) ? [.gather] : []
    }

    /// Makes the requests that are allowed now.
    ///
    /// - Parameter batchSize: How many channels one request can be for.
    package mutating func gathered(batchSize: Int, _ configuration: CoreConfiguration) -> [Action] {
        var actions: [Action] = []
        while mayAsk(configuration) {
            let batch = takeQueued(batchSize)
            guard !batch.isEmpty else { break }
            actions += ask(batch, configuration)
        }
        return actions
    }

    private func mayAsk(_ configuration: CoreConfiguration) -> Bool {
        requests.count < max(configuration.authorizationsAtOnce, 1)
    }

    private mutating func takeQueued(_ count: Int) -> [AuthorizationID] {
        var taken: [AuthorizationID] = []
        while taken.count < max(count, 1), head < queue.count {
            let id = queue[head]
            head += 1
            if jobs[id]?.phase == .queued { taken.append(id) }
        }
        // The questions before `head` are done. They are removed when they outnumber the rest, so that each question
        // moves at most twice.
        if head > queue.count / 2 {
            queue.removeFirst(head)
            head = 0
        }
        return taken
    }

    package mutating func answered(
        _ answered: AuthorizationTry,
        _ result: Result<Authorization, AuthorizationError>,
        _ configuration: CoreConfiguration,
        now: Instant
    ) -> [Action] {
        guard case .asking? = jobs[answered.id]?.phase, jobs[answered.id]?.number == answered.number else { return [] }
        return [.cancelTimer(answered.id)] + settle(answered.id, result, configuration, now: now)
    }

    package mutating func timerFired(
        _ id: AuthorizationID,
        _ configuration: CoreConfiguration,
        now: Instant
    ) -> [Action] {
        guard let job = jobs[id] else { return [] }
        switch job.phase {
        case .asking:
            return [.cancel(AuthorizationTry(id, number: job.number))]
                + settle(id, .failure(.timedOut(after: configuration.timeouts.authorization)), configuration, now: now)
        case .pausing:
            return enqueue(id, configuration)
        case .queued, .deciding:
            return []
        }
    }

    package mutating func retryDecided(
        _ failed: AuthorizationTry,
        delay: Duration?,
        _ configuration: CoreConfiguration,
        now: Instant
    ) -> [Action] {
        guard let job = jobs[failed.id], job.number == failed.number, case .deciding(let error) = job.phase else {
            return []
        }
        guard let delay else { return finish(failed.id, .failure(error), configuration, now: now) }
        jobs[failed.id]?.phase = .pausing
        return [.setTimer(failed.id, after: max(delay, error.earliestRetry, .zero))]
    }

    // MARK: One authorization

    /// Makes one request, for several channels or for the user.
    private mutating func ask(
        _ ids: [AuthorizationID],
        isUser: Bool = false,
        _ configuration: CoreConfiguration
    ) -> [Action] {
        if !isUser {
            lastRequest += 1
            requests[lastRequest] = ids.count
        }
        var questions: [AuthorizationTry: AuthorizationQuestion] = [:]
        for id in ids {
            guard var job = jobs[id] else { continue }
            job.number += 1
            job.phase = .asking(request: isUser ? nil : lastRequest)
            jobs[id] = job
            questions[AuthorizationTry(id, number: job.number)] = job.question
        }
        return [.ask(questions)] + ids.map { .setTimer($0, after: configuration.timeouts.authorization) }
    }

    /// Counts an answer of a request that has come, or is no longer needed.
    private mutating func settleRequest(of job: Job?) {
        guard case .asking(let request?)? = job?.phase, let unanswered = requests[request] else { return }
        requests[request] = unanswered > 1 ? unanswered - 1 : nil
    }

    /// Handles the outcome of a try: finishes, or begins another one.
    private mutating func settle(
        _ id: AuthorizationID,
        _ result: Result<Authorization, AuthorizationError>,
        _ configuration: CoreConfiguration,
        now: Instant
    ) -> [Action] {
        settleRequest(of: jobs[id])
        guard var job = jobs[id], case .failure(let error) = result else {
            return finish(id, result, configuration, now: now)
        }
        switch error.recovery {
        case .askOnceMore where !job.hasAskedOnceMore:
            job.hasAskedOnceMore = true
            jobs[id] = job
            return enqueue(id, configuration)
        case .retry where job.countedTries < job.maximumTries:
            job.phase = .deciding(error)
            jobs[id] = job
            let question = RetryQuestion(
                retryCount: job.countedTries - 1,
                elapsed: now - job.since,
                reason: error.clientError(.authorizationFailed),
                minimumDelay: error.earliestRetry
            )
            return [.askRetryPolicy(AuthorizationTry(id, number: job.number), question)] + gather(configuration)
        case .none, .askOnceMore, .retry:
            return finish(id, result, configuration, now: now)
        }
    }

    /// The user's goes first, because thousands of channels may be queued, and some may wait for the user.
    private mutating func enqueue(_ id: AuthorizationID, _ configuration: CoreConfiguration) -> [Action] {
        jobs[id]?.phase = .queued
        if jobs[id]?.isUser == true { return ask([id], isUser: true, configuration) }
        queue.append(id)
        return gather(configuration)
    }

    private mutating func finish(
        _ id: AuthorizationID,
        _ result: Result<Authorization, AuthorizationError>,
        _ configuration: CoreConfiguration,
        now: Instant
    ) -> [Action] {
        guard let job = jobs.removeValue(forKey: id) else { return [] }
        let outcome = Outcome(id: id, subject: job.question.subject, result: result, duration: now - job.since)
        return gather(configuration) + [.finish(outcome)]
    }

    private mutating func end(_ id: AuthorizationID) -> [Action] {
        guard let job = jobs.removeValue(forKey: id) else { return [] }
        switch job.phase {
        case .queued, .deciding:
            return []
        case .asking:
            settleRequest(of: job)
            return [.cancelTimer(id), .cancel(AuthorizationTry(id, number: job.number))]
        case .pausing:
            return [.cancelTimer(id)]
        }
    }
}

extension AuthorizationError {
    /// The time before which another try would not help.
    fileprivate var earliestRetry: Duration {
        if case .retry(let delay) = recovery { delay } else { .zero }
    }
}
