/// All authorizations of a connection, for channels and for the user. The options limit the number of simultaneous
/// requests for channels. Each try has a time limit. ``Retries`` decides whether another authorization follows a failure.
package struct AuthorizationStateMachine: Hashable, Sendable {
    package enum Phase: Hashable, Sendable {
        /// The authorization waits until the limit allows a request.
        case queued
        /// A try is under way. The request is `nil` for the user's authorization, which does not count toward the
        /// limit.
        case trying(request: UInt64?)
    }

    package struct Job: Hashable, Sendable {
        package var question: AuthorizationQuestion
        /// The number of the try. The second try follows ``AuthorizationError/Recovery/askOnceMore``.
        package var number = 0
        package var phase = Phase.queued
        package var since: Instant

        var isUser: Bool { question.subject == .user }
    }

    /// The outcome of an authorization.
    package struct Outcome: Hashable, Sendable {
        package var id: AuthorizationID
        package var subject: AuthorizationQuestion.Subject
        package var result: Result<Authorization, AuthorizationError>
        /// The time since the beginning of the authorization.
        package var duration: Duration
    }

    package enum Action: Hashable, Sendable {
        /// Call ``gathered(batchSize:_:)`` in a later turn of the event loop.
        case gather
        /// Make one request.
        case ask([AuthorizationTry: AuthorizationQuestion])
        /// Cancel a try whose answer is no longer needed.
        case cancel(AuthorizationTry)
        case setTimer(AuthorizationID, after: Duration)
        case cancelTimer(AuthorizationID)
        case finish(Outcome)
    }

    package private(set) var jobs: [AuthorizationID: Job] = [:]
    /// The queued questions, oldest first, beginning at the index `head`. The queue may contain cancelled questions.
    private var queue: [AuthorizationID] = []
    private var head = 0
    /// The requests for channels that are under way, with the number of missing answers of each request.
    private var requests: [UInt64: Int] = [:]
    private var lastRequest: UInt64 = 0

    package init() {}

    package var isEmpty: Bool { jobs.isEmpty }

    package mutating func begin(
        _ id: AuthorizationID,
        _ question: AuthorizationQuestion,
        _ configuration: CoreConfiguration,
        now: Instant
    ) -> [Action] {
        jobs[id] = Job(question: question, since: now)
        return enqueue(id, configuration)
    }

    /// Cancels authorizations that are no longer needed.
    package mutating func cancel(_ ids: [AuthorizationID], _ configuration: CoreConfiguration) -> [Action] {
        ids.flatMap { end($0) } + gather(configuration)
    }

    /// Cancels all authorizations, because the answers are useless after the connection was lost or closed.
    package mutating func cancelAll() -> [Action] { jobs.keys.sorted().flatMap { end($0) } }

    /// Returns the action ``Action/gather`` if a queued question may be asked. The shell carries it out in a later turn
    /// of the event loop, because questions of one turn can share a request.
    private func gather(_ configuration: CoreConfiguration) -> [Action] {
        head < queue.count && mayAsk(configuration) ? [.gather] : []
    }

    /// Makes as many requests as the limit allows now.
    ///
    /// - Parameter batchSize: The maximum number of channels in one request.
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
        // The questions before `head` are no longer queued. The machine removes them only if they outnumber the other
        // questions, because each removal moves all other questions.
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
        guard case .trying? = jobs[answered.id]?.phase, jobs[answered.id]?.number == answered.number else { return [] }
        return [.cancelTimer(answered.id)] + settle(answered.id, result, configuration, now: now)
    }

    package mutating func timerFired(
        _ id: AuthorizationID,
        _ configuration: CoreConfiguration,
        now: Instant
    ) -> [Action] {
        guard let job = jobs[id], case .trying = job.phase else { return [] }
        return [.cancel(AuthorizationTry(id, number: job.number))]
            + settle(id, .failure(.timedOut(after: configuration.timeouts.authorization)), configuration, now: now)
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
            job.phase = .trying(request: isUser ? nil : lastRequest)
            jobs[id] = job
            questions[AuthorizationTry(id, number: job.number)] = job.question
        }
        return [.ask(questions)] + ids.map { .setTimer($0, after: configuration.timeouts.authorization) }
    }

    /// Reduces the number of missing answers of the job's request.
    private mutating func settleRequest(of job: Job?) {
        guard case .trying(let request?)? = job?.phase, let unanswered = requests[request] else { return }
        requests[request] = unanswered > 1 ? unanswered - 1 : nil
    }

    /// Handles the outcome of a try. Finishes the authorization, or begins the second try.
    private mutating func settle(
        _ id: AuthorizationID,
        _ result: Result<Authorization, AuthorizationError>,
        _ configuration: CoreConfiguration,
        now: Instant
    ) -> [Action] {
        settleRequest(of: jobs[id])
        if case .failure(let error) = result, error.recovery == .askOnceMore, jobs[id]?.number == 1 {
            return enqueue(id, configuration)
        }
        return finish(id, result, configuration, now: now)
    }

    /// Queues a question about a channel, and asks a question about the user at once. The user's question must not wait
    /// for thousands of channels, because some of these channels may wait for the sign-in.
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
        guard case .trying = job.phase else { return [] }
        settleRequest(of: job)
        return [.cancelTimer(id), .cancel(AuthorizationTry(id, number: job.number))]
    }
}
