import PusherProtocol

/// The server's limit on the number of messages, if that includes subscriptions (Reverb).
extension ClientStateMachine {
    /// Subscriptions are overdue. If an error about the limit came meanwhile, and was attributed to a client event, the
    /// server has dropped the subscriptions. It would not drop them again without another error.
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

    /// Continues after the errors about the limit have stopped, or when more may be sent.
    mutating func goOnSubscribing(now: Instant, into effects: inout [Effect]) {
        if pace.isHitOver(now: now) { repeatSubscriptions(now: now, into: &effects) }
        sendQueuedSubscriptions(now: now, into: &effects)
        if pace.hit != nil || subscriptions.queuedCount > 0 { setPaceTimer(now: now, into: &effects) }
    }

    /// Repeats the subscriptions that the server has dropped, because it has not answered them.
    private mutating func repeatSubscriptions(now: Instant, into effects: inout [Effect]) {
        guard let hit = pace.hit else { return }
        let names = subscriptionsHit(session?.requests)
        session?.requests.repeated(names.map { .channel($0) })
        for name in names {
            guard case .subscribing(_, let request) = subscriptions[name]?.phase else {
                subscriptions[name] = nil
                continue
            }
            subscriptions.update(name) { $0.queue(request) }
            statistics.subscriptions.repeated += 1
        }
        if !pace.endHit(refusedCount: names.count, now: now) { failQueued(hit.message, now: now, into: &effects) }
    }

    /// The unanswered subscriptions that were sent before the last error about the limit.
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

    /// Fails the queued subscriptions after the server has accepted none for too long.
    private mutating func failQueued(_ message: ServerErrorMessage, now: Instant, into effects: inout [Effect]) {
        for name in subscriptions.queuedNames {
            failSubscription(name, .refused(name, message), now: now, into: &effects)
        }
    }

    /// Runs a timer while subscriptions are held back.
    mutating func setPaceTimer(now: Instant, into effects: inout [Effect]) {
        guard !timers.isRunning(.subscriptionPace) else { return }
        timers.set(.subscriptionPace, after: max(pace.wakeUp(now: now) - now, .zero), into: &effects)
    }

    /// Resets the pace, and keeps the learned limit.
    mutating func losePace(_ requests: UnansweredRequests, now: Instant, into effects: inout [Effect]) {
        timers.cancel(.subscriptionPace, into: &effects)
        // A server that drops connections over its limit counts all messages.
        if let error = requests.lastError, error.message.isRejection, now - error.time < .seconds(1),
            subscriptions.pendingCount > 0
        {
            _ = pace.exceeded(error.message, lastNumber: error.lastNumber, now: now)
        }
        let message = pace.hit?.message
        let names = subscriptionsHit(requests)
        guard !pace.connectionLost(refusedCount: names.count, now: now), let message else { return }
        for name in names { subscriptions.update(name) { $0.queue() } }
        failQueued(message, now: now, into: &effects)
    }
}
