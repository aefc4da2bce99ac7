import PusherProtocol

/// Handles the server's limit on the number of messages, if this limit includes subscriptions (Reverb).
extension ClientStateMachine {
    /// Repeats overdue subscriptions, if an error about the limit seemed to concern a client event. In this case, the
    /// error concerned the subscriptions, and the server has dropped them. If the server also drops the repeated
    /// subscriptions, it sends another error.
    mutating func repeatOverdueSubscriptions(now: Instant, into effects: inout [Effect]) {
        guard !pace.hasLimit, let error = session?.requests.lastError, error.message.isRejection,
            now - error.time <= configuration.timeouts.subscription
        else { return }
        _ = pace.exceeded(error.message, lastNumber: error.lastNumber, now: now)
        repeatSubscriptions(now: now, into: &effects)
        goOnSubscribing(now: now, into: &effects)
    }

    func maySend(now: Instant) -> Bool { subscriptions.queuedCount == 0 && allowance(now: now) > 0 }

    private func allowance(now: Instant) -> Int {
        pace.allowance(now: now, isAnswered: subscriptions.pendingCount == 0)
    }

    /// Continues to subscribe after the last error about the limit, or when the limit allows more subscriptions.
    mutating func goOnSubscribing(now: Instant, into effects: inout [Effect]) {
        if pace.hasHitEnded(now: now) { repeatSubscriptions(now: now, into: &effects) }
        sendQueuedSubscriptions(now: now, into: &effects)
        if pace.hit != nil || subscriptions.queuedCount > 0 { setPaceTimer(now: now, into: &effects) }
    }

    /// Repeats the unanswered subscriptions, because the server has dropped them.
    private mutating func repeatSubscriptions(now: Instant, into effects: inout [Effect]) {
        guard let hit = pace.hit else { return }
        let names = subscriptionsHit(session?.requests)
        connection.session?.requests.repeated(names.map { .channel($0) })
        for name in names {
            guard case .subscribing(_, let request) = subscriptions[name]?.phase else {
                subscriptions[name] = nil
                continue
            }
            subscriptions.update(name) { $0.queue(request) }
            statistics.subscriptions.repeated += 1
        }
        guard !pace.endHit(unansweredCount: names.count, now: now) else { return }
        // The server has answered no subscription for too long, but its limit may still pass.
        for name in subscriptions.queuedNames {
            postponeSubscription(to: name, .refused(name, hit.message), now: now, into: &effects)
        }
    }

    /// Returns the unanswered subscriptions that the client sent before the last error about the limit.
    private func subscriptionsHit(_ requests: UnansweredRequests?) -> [String] {
        guard let hit = pace.hit, let requests else { return [] }
        return subscriptions.values.filter(\.isPending).map(\.name).filter { name in
            requests.sent[.channel(name)].map { $0.number <= hit.lastNumber } ?? false
        }
    }

    mutating func sendQueuedSubscriptions(now: Instant, into effects: inout [Effect]) {
        guard subscriptions.queuedCount > 0 else { return }
        let allowance = allowance(now: now)
        guard allowance > 0 else { return }
        for name in subscriptions.queuedNames.prefix(allowance) {
            guard case .queued(let request) = subscriptions[name]?.phase else { continue }
            sendAtOnce(name, request, now: now, into: &effects)
        }
    }

    /// Runs a timer while the limit holds back subscriptions.
    mutating func setPaceTimer(now: Instant, into effects: inout [Effect]) {
        guard !timers.isRunning(.subscriptionPace) else { return }
        timers.set(.subscriptionPace, after: max(pace.wakeUp(now: now) - now, .zero), into: &effects)
    }

    /// Resets the pace, and keeps the learned limit.
    mutating func losePace(_ session: Session, now: Instant, into effects: inout [Effect]) {
        let requests = session.requests
        timers.cancel(.subscriptionPace, into: &effects)
        // A server that closes connections because of its limit counts all messages, including subscriptions, the
        // sign-in and the subscription to the user's own channel.
        if let error = requests.lastError, error.message.isRejection, now - error.time < .seconds(1),
            requests.lastUnanswered != nil
        {
            _ = pace.exceeded(error.message, lastNumber: error.lastNumber, now: now)
        }
        let message = pace.hit?.message
        let names = subscriptionsHit(requests)
        // Without an error, each unanswered request may have exceeded a limit.
        let unansweredCount = message == nil ? subscriptions.pendingCount : names.count
        let suspectCount =
            pace.hit.map { hit in requests.sent.values.count { $0.number <= hit.lastNumber } } ?? requests.sent.count
        let goesOn = pace.connectionLost(
            isUnexplained: session.isLossUnexplained,
            unansweredCount: unansweredCount,
            otherCount: suspectCount - unansweredCount,
            now: now
        )
        guard !goesOn, let message else { return }
        // The next connection subscribes again, so the waits for these subscriptions go on.
        for subscription in subscriptions.values.filter({ $0.isQueued || names.contains($0.name) && $0.isWanted })
            .sorted(by: { $0.id < $1.id })
        {
            announceFailure(of: subscription.id, .refused(subscription.name, message), into: &effects)
        }
    }
}
