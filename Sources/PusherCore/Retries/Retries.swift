/// The retries on one connection of what the app wants: subscriptions, keys, the sign-in, and the user's own channel.
///
/// After a failure that may pass, the client asks the retry policy, waits, and tries again. The entry stays until a try
/// succeeds, a failure cannot pass, or the app no longer wants the subject. So the waits grow from failure to failure.
package struct Retries: Hashable, Sendable {
    package enum Subject: Hashable, Sendable {
        case channel(String)
        /// The key of an encrypted channel that is subscribed.
        case key(channel: String)
        case signIn
        case ownChannel
    }

    package enum Phase: Hashable, Sendable {
        /// The client has asked the retry policy whether and when to try again.
        case asking
        /// The wait before the next try.
        case waiting
        case trying
    }

    package struct Retry: Hashable, Sendable {
        package let id: RetryID
        package let since: Instant
        package internal(set) var phase = Phase.asking
        /// The number of failed tries.
        package internal(set) var failures = 0
        /// The number of failed authorizations among these tries.
        package internal(set) var authorizationFailures = 0
        package internal(set) var error: PusherClientError
        /// The shortest wait before the next try.
        package internal(set) var minimumDelay: Duration
    }

    private var retries: [Subject: Retry] = [:]
    private var subjectsByID: [RetryID: Subject] = [:]

    package init() {}

    package var isEmpty: Bool { retries.isEmpty }

    package subscript(subject: Subject) -> Retry? { retries[subject] }

    package var subjects: some Collection<Subject> { retries.keys }

    var ids: [RetryID] { subjectsByID.keys.sorted { $0.rawValue < $1.rawValue } }

    /// Handles a failure that may pass. Returns the question for the retry policy.
    ///
    /// - Parameter id: The id for a new entry.
    mutating func failed(
        _ subject: Subject,
        _ error: PusherClientError,
        minimumDelay: Duration,
        id: RetryID,
        now: Instant
    ) -> (RetryQuestionID, RetryQuestion) {
        var retry = retries[subject] ?? Retry(id: id, since: now, error: error, minimumDelay: minimumDelay)
        retry.phase = .asking
        retry.failures += 1
        if error.isAuthorizationFailure { retry.authorizationFailures += 1 }
        retry.error = error
        retry.minimumDelay = minimumDelay
        retries[subject] = retry
        subjectsByID[retry.id] = subject
        let question = RetryQuestion(
            retryCount: retry.failures - 1,
            elapsed: now - retry.since,
            reason: error,
            minimumDelay: minimumDelay
        )
        return (.request(retry.id, failures: retry.failures), question)
    }

    /// Handles the policy's answer. Returns `nil` if no such question is pending.
    mutating func decided(_ id: RetryID, failures: Int) -> (Subject, Retry)? {
        guard let subject = subjectsByID[id], var retry = retries[subject], retry.phase == .asking,
            retry.failures == failures
        else { return nil }
        retry.phase = .waiting
        retries[subject] = retry
        return (subject, retry)
    }

    /// Handles the end of the wait. Returns the subject of the try that begins.
    mutating func isDue(_ id: RetryID) -> Subject? {
        guard let subject = subjectsByID[id], retries[subject]?.phase == .waiting else { return nil }
        retries[subject]?.phase = .trying
        return subject
    }

    /// Removes the entry. Returns its id if there was one.
    mutating func end(_ subject: Subject) -> RetryID? {
        guard let id = retries.removeValue(forKey: subject)?.id else { return nil }
        subjectsByID[id] = nil
        return id
    }
}
