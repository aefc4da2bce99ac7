/// Tries again after failures that may pass, for as long as the app wants the subject and there is a connection.
extension ClientStateMachine {
    /// Returns the shortest wait before the next authorization. Returns `nil` if the failure cannot pass, or if the
    /// options allow no further try.
    func retryDelay(after error: AuthorizationError, of subject: Retries.Subject) -> Duration? {
        guard case .retry(let delay) = error.recovery else { return nil }
        let tries = (session?.retries[subject]?.authorizationFailures ?? 0) + 1
        if let limit = configuration.authorizationTries, tries >= limit { return nil }
        return max(delay, .zero)
    }

    /// Handles a failure that may pass, and asks the retry policy when to try again.
    mutating func retry(
        _ subject: Retries.Subject,
        after error: PusherClientError,
        notBefore minimumDelay: Duration = .zero,
        now: Instant,
        into effects: inout [Effect]
    ) {
        let id = RetryID(rawValue: nextSerial())
        let asked = connection.changeSession {
            $0.retries.failed(subject, error, minimumDelay: minimumDelay, id: id, now: now)
        }
        guard let (id, question) = asked else { return }
        effects.append(.askRetryPolicy(id, question))
    }

    /// Handles the answer of the retry policy. The first failure is reported, and later failures only when the policy
    /// stops.
    mutating func requestRetryDecided(
        _ id: RetryID,
        failures: Int,
        delay: Duration?,
        now: Instant,
        into effects: inout [Effect]
    ) {
        let decided = connection.changeSession { $0.retries.decided(id, failures: failures) } ?? nil
        guard let (subject, retry) = decided else { return }
        guard let delay else { return stopRetrying(subject, retry.error, now: now, into: &effects) }
        timers.set(.nextTry, of: id.rawValue, after: max(delay, retry.minimumDelay, .zero), into: &effects)
        if retry.failures == 1 { announceFailure(of: subject, retry.error, into: &effects) }
    }

    /// Begins the next try.
    mutating func nextTryIsDue(_ id: RetryID, now: Instant, into effects: inout [Effect]) {
        guard let subject = connection.changeSession({ $0.retries.isDue(id) }) ?? nil else { return }
        switch subject {
        case .channel(let name):
            statistics.subscriptions.retried += 1
            retrySubscription(to: name, now: now, into: &effects)
        case .key(let name):
            statistics.subscriptions.retried += 1
            beginKeyRefresh(of: name, now: now, into: &effects)
        case .signIn:
            statistics.signIns.retried += 1
            beginSignIn(now: now, into: &effects)
        case .ownChannel:
            guard let user = signIn.user else { return }
            statistics.subscriptions.retried += 1
            subscribeToOwnChannel(of: user, now: now, into: &effects)
        }
    }

    /// Forgets the failures of a subject that has succeeded, failed for good, or is no longer wanted.
    mutating func endRetry(of subject: Retries.Subject, into effects: inout [Effect]) {
        guard let id = connection.changeSession({ $0.retries.end(subject) }) ?? nil else { return }
        timers.cancel(.nextTry, of: id.rawValue, into: &effects)
    }

    private mutating func announceFailure(
        of subject: Retries.Subject,
        _ error: PusherClientError,
        into effects: inout [Effect]
    ) {
        switch subject {
        case .channel(let name):
            guard let id = subscriptions.read(name, { $0.id }), let error = error.subscriptionError else { return }
            announceFailure(of: id, error, into: &effects)
        case .signIn:
            announceSignInFailure(error, into: &effects)
        case .key, .ownChannel:
            effects.append(.report(error))
        }
    }

    private mutating func stopRetrying(
        _ subject: Retries.Subject,
        _ error: PusherClientError,
        now: Instant,
        into effects: inout [Effect]
    ) {
        switch subject {
        case .channel(let name):
            guard let error = error.subscriptionError else { return }
            failSubscription(name, error, now: now, into: &effects)
        case .key(let name):
            guard let error = error.subscriptionError else { return }
            failKeyRefresh(of: name, error, now: now, into: &effects)
        case .signIn:
            failSignIn(error, now: now, into: &effects)
        case .ownChannel:
            endRetry(of: .ownChannel, into: &effects)
            effects.append(.report(error))
        }
    }
}

extension PusherClientError {
    /// Whether an authorization failed, and not the request to the server.
    var isAuthorizationFailure: Bool { (subscriptionError?.cause ?? cause) is AuthorizationError }

    /// The error of a channel, if the error was made from one.
    package var subscriptionError: SubscriptionError? { cause as? SubscriptionError }
}
