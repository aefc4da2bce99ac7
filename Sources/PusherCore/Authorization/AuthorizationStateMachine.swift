/// One question to an authorizer. Each retry is another try of the same authorization; an answer to a try that is not
/// current is ignored.
package struct AuthorizationTry: Hashable, Sendable, Comparable {
    package let id: AuthorizationID
    package let number: Int

    package init(_ id: AuthorizationID, number: Int) {
        self.id = id
        self.number = number
    }

    package static func < (left: Self, right: Self) -> Bool { (left.id, left.number) < (right.id, right.number) }
}

/// All authorizations that are wanted: those of channels, in at most as many requests at once as allowed, and the user's. Each
/// has a time limit, and is retried if that can help.
///
/// They are tied to the connection they were begun for: when it ends, ``cancelAll(into:)`` ends them too.
package struct AuthorizationStateMachine: Hashable, Sendable {
    package enum Phase: Hashable, Sendable {
        /// It waits for a request of its own, or one that it can share.
        case queued
        /// The request is `nil` for the user's, which does not count.
        case asking(request: UInt64?, timer: TimerID)
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
    /// The requests for channels that are under way, and how many answers each still has to bring.
    private var requests: [UInt64: Int] = [:]
    /// Whether the shell has been asked to say when the next requests can be made.
    private var isGathering = false
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
        enqueue(id, configuration, into: &effects)
        return id
    }

    /// Nobody wants the answer any more. ``gather(_:into:)`` is to follow.
    package mutating func cancel(_ id: AuthorizationID, into effects: inout [Effect]) { end(id, into: &effects) }

    /// The connection is gone: no answer can be used.
    package mutating func cancelAll(into effects: inout [Effect]) {
        for id in jobs.keys.sorted() { end(id, into: &effects) }
        queue = []
        head = 0
    }

    /// Has the shell call ``gathered(batchSize:_:into:)`` in another turn of the loop, if there is something to ask for: what
    /// comes up in this turn can share a request.
    package mutating func gather(_ configuration: CoreConfiguration, into effects: inout [Effect]) {
        guard !isGathering, head < queue.count, hasRoom(configuration) else { return }
        isGathering = true
        effects.append(.gatherAuthorizations)
    }

    /// Makes the requests that are allowed now.
    ///
    /// - Parameter batchSize: How many channels one request can be for.
    package mutating func gathered(
        batchSize: Int,
        _ configuration: CoreConfiguration,
        into effects: inout [Effect]
    ) {
        isGathering = false
        while hasRoom(configuration) {
            let batch = takeQueued(batchSize)
            guard !batch.isEmpty else { break }
            ask(batch, configuration, into: &effects)
        }
    }

    private func hasRoom(_ configuration: CoreConfiguration) -> Bool {
        requests.count < max(configuration.authorizationsAtOnce, 1)
    }

    private mutating func takeQueued(_ count: Int) -> [AuthorizationID] {
        var taken: [AuthorizationID] = []
        while taken.count < max(count, 1), head < queue.count {
            let id = queue[head]
            head += 1
            if jobs[id]?.phase == .queued { taken.append(id) }
        }
        // What is in front was asked for. It goes when it is more than what is left, so that each is moved once or twice.
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
        now: Instant,
        into effects: inout [Effect]
    ) -> Outcome? {
        guard case .asking(_, let timer)? = jobs[answered.id]?.phase, jobs[answered.id]?.number == answered.number
        else { return nil }
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
            enqueue(id, configuration, into: &effects)
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

    /// Makes one request, for several channels or for the user.
    private mutating func ask(
        _ ids: [AuthorizationID],
        isUser: Bool = false,
        _ configuration: CoreConfiguration,
        into effects: inout [Effect]
    ) {
        let request = isUser ? nil : nextSerial()
        if let request { requests[request] = ids.count }
        var questions: [AuthorizationTry: AuthorizationQuestion] = [:]
        var timers: [TimerID] = []
        for id in ids {
            guard var job = jobs[id] else { continue }
            let timer = makeTimer(of: id)
            timers.append(timer)
            job.number += 1
            job.phase = .asking(request: request, timer: timer)
            jobs[id] = job
            questions[AuthorizationTry(id, number: job.number)] = job.question
        }
        statistics.tries += questions.count
        effects.append(.authorize(questions))
        for timer in timers { effects.append(.schedule(timer, after: configuration.timeouts.authorization)) }
    }

    /// One of the answers of a request has come, or is not wanted any more.
    private mutating func settleRequest(of job: Job?) {
        guard case .asking(let request?, _)? = job?.phase, let unanswered = requests[request] else { return }
        requests[request] = unanswered > 1 ? unanswered - 1 : nil
    }

    /// The outcome of a try; nil where another one follows.
    private mutating func settle(
        _ id: AuthorizationID,
        _ result: Result<Authorization, AuthorizationError>,
        _ configuration: CoreConfiguration,
        now: Instant,
        into effects: inout [Effect]
    ) -> Outcome? {
        settleRequest(of: jobs[id])
        guard var job = jobs[id], case .failure(let error) = result else {
            return finish(id, result, configuration, now: now, into: &effects)
        }
        switch error.recovery {
        case .askOnceMore where !job.hasAskedOnceMore:
            job.hasAskedOnceMore = true
            jobs[id] = job
            enqueue(id, configuration, into: &effects)
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
            gather(configuration, into: &effects)
            return nil
        case .none, .askOnceMore, .retry:
            return finish(id, result, configuration, now: now, into: &effects)
        }
    }

    /// The user does not wait for thousands of channels, some of which may wait for the user.
    private mutating func enqueue(
        _ id: AuthorizationID,
        _ configuration: CoreConfiguration,
        into effects: inout [Effect]
    ) {
        jobs[id]?.phase = .queued
        if jobs[id]?.isUser == true { return ask([id], isUser: true, configuration, into: &effects) }
        queue.append(id)
        gather(configuration, into: &effects)
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
        gather(configuration, into: &effects)
        return Outcome(id: id, subject: job.question.subject, result: result)
    }

    private mutating func end(_ id: AuthorizationID, into effects: inout [Effect]) {
        guard let job = jobs.removeValue(forKey: id) else { return }
        statistics.cancelled += 1
        switch job.phase {
        case .queued:
            break
        case .asking(_, let timer):
            settleRequest(of: job)
            stop(timer, into: &effects)
            effects.append(.cancelAuthorization(AuthorizationTry(id, number: job.number)))
        case .deciding(let question, _):
            questions[question] = nil
        case .pausing(let timer):
            stop(timer, into: &effects)
        }
    }

    private mutating func stop(_ timer: TimerID, into effects: inout [Effect]) {
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
