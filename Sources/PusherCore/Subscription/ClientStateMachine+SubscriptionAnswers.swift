import PusherProtocol

/// Handles the server's answers to subscriptions.
extension ClientStateMachine {
    mutating func subscriptionSucceeded(_ envelope: Envelope, now: Instant, into effects: inout [Effect]) {
        guard let name = envelope.channel else { return countIgnored() }
        defer { answered(.channel(name), now: now, into: &effects) }
        guard !name.utf8.starts(with: ChannelName.serverToUserPrefix.utf8) else {
            return ownChannelSucceeded(name, into: &effects)
        }
        if !confirmSubscription(name, envelope, now: now, into: &effects) {
            // The app unsubscribed before the server answered.
            subscriptions[name] = nil
            send(.unsubscribe(channel: name), into: &effects)
        }
    }

    /// Handles a confirmation of a channel. Returns `false` if the app does not want the channel.
    mutating func confirmSubscription(
        _ name: String,
        _ envelope: Envelope,
        now: Instant,
        into effects: inout [Effect]
    ) -> Bool {
        let result = subscriptions.update(name) { subscription in
            subscription.isWanted ? (subscription.id, subscription.kind.base, subscription.succeeded(now: now)) : nil
        }
        guard let (id, kind, confirmation) = result ?? nil else { return false }
        guard let confirmation else {
            if subscriptions.read(name, { $0.isSubscribed && $0.roster != nil }) == true {
                replaceMembers(of: name, envelope, isNews: false, into: &effects)
            } else {
                countIgnored()
                unsubscribeUnknown(name, into: &effects)
            }
            return true
        }
        if let needless = confirmation.needlessAuthorization {
            cancelAuthorizations([needless], now: now, into: &effects)
        }
        endRetry(of: .channel(name), into: &effects)
        statistics.subscriptions.succeeded += 1
        if confirmation.away != nil { statistics.subscriptions.resubscribed += 1 }
        var event = envelope
        event.event = EventName.subscriptionSucceeded
        if kind == .presence { replaceMembers(of: name, envelope, isNews: true, into: &effects) }
        effects.append(.subscribed(id, event, away: confirmation.away))
        for waiter in confirmation.waiters { effects.append(.resume(waiter, .done)) }
        if kind == .privateEncrypted { updateDecryption(name, now: now, into: &effects) { $0.subscribed(now: now) } }
        if clientEvents.channelSubscribed(id) { sendClientEvents(now: now, into: &effects) }
        return true
    }

    /// Unsubscribes from a channel that the server has confirmed, although the client has no unanswered request for the
    /// channel. Some servers do not answer a second subscription to a channel, so the client unsubscribes before it
    /// subscribes.
    private func unsubscribeUnknown(_ name: String, into effects: inout [Effect]) {
        switch subscriptions.read(name, { $0.phase }) {
        case .subscribing, .subscribingUnwanted, .subscribed, .invalid, nil: break
        case .idle, .authorizing, .awaitingSignIn, .queued, .retrying, .failed:
            send(.unsubscribe(channel: name), into: &effects)
        }
    }

    /// Handles a refusal that names the channel, as soketi, pylon and others send it.
    mutating func subscriptionRefused(_ envelope: Envelope, now: Instant, into effects: inout [Effect]) {
        let error = SubscriptionError.refused(envelope)
        if let name = envelope.channel { answered(.channel(name), now: now, into: &effects) }
        guard let name = envelope.channel, subscriptions[name]?.isPending == true else {
            var report = error.clientError
            if envelope.channel == nil { report.channelName = nil }
            effects.append(.report(report))
            guard let name = envelope.channel else { return }
            ownChannelRefused(name, into: &effects)
            doubtSubscription(to: name, now: now, into: &effects)
            return
        }
        failSubscription(name, error, now: now, into: &effects)
    }

    /// Handles the server's answer to a request. The answer can reveal which other request caused an earlier error that
    /// named no request.
    mutating func answered(_ request: UnansweredRequests.Request, now: Instant, into effects: inout [Effect]) {
        guard let faults = connection.changeSession({ $0.requests.answered(request) }) ?? nil else { return }
        if case .channel(let name) = request, session?.signIn.ownChannels[name] == nil { pace.answered(now: now) }
        failRequests(faults, now: now, into: &effects)
        sendQueuedSubscriptions(now: now, into: &effects)
    }

    mutating func failSubscription(
        _ name: String,
        _ error: SubscriptionError,
        now: Instant,
        into effects: inout [Effect]
    ) {
        guard var subscription = subscriptions[name] else { return }
        guard subscription.isWanted else {
            cancelWork(of: subscription, now: now, into: &effects)
            subscriptions[name] = nil
            return
        }
        // After a timeout, the server may still send events. The client therefore keeps its key, or continues to fetch
        // a new key.
        let keepsKey = error.code == .subscriptionTimedOut && subscription.decryption?.hasKey == true
        if keepsKey {
            endRetry(of: .channel(name), into: &effects)
        } else {
            cancelWork(of: subscription, now: now, into: &effects)
        }
        subscription.failed(error)
        if error.code == .subscriptionRefused, subscription.kind.requiresAuthorization,
            subscription.ownAuthorization != nil,
            subscription.ownAuthorization?.socketID == socketID
        {
            // The app may have set another authorization after the request. The refusal does not concern that
            // authorization.
            subscriptions[name] = subscription
            return beginSubscription(to: name, now: now, into: &effects)
        }
        let waiters = subscription.waiters
        subscription.waiters = []
        subscriptions[name] = subscription
        if !keepsKey { updateDecryption(name, now: now, into: &effects) { $0.subscriptionFailed(error) } }
        announceFailure(of: subscription.id, error, into: &effects)
        for waiter in waiters { effects.append(.resume(waiter, .subscriptionFailed(error))) }
    }

    /// Tells the app that a subscription failed.
    mutating func announceFailure(of id: ChannelID, _ error: SubscriptionError, into effects: inout [Effect]) {
        statistics.subscriptions.failed += 1
        effects.append(.subscriptionFailed(id, error, Self.failureEvent(error)))
    }

    /// Makes the event `pusher:subscription_error` for an error. The event's data has the members that pusher-js uses.
    static func failureEvent(_ error: SubscriptionError) -> Envelope {
        var data: WireTable<JSONValue> = ["type": .string(error.eventType), "error": .string(error.message)]
        if let status = error.httpStatus ?? error.serverCode { data["status"] = .integer(status) }
        return Envelope(
            event: EventName.subscriptionError,
            channel: error.channelName,
            data: .string(JSONValue.object(data).jsonText)
        )
    }
}

extension SubscriptionError {
    /// The `type` that pusher-js and servers use for the error.
    fileprivate var eventType: String {
        switch code {
        case .authorizationFailed, .invalidAuthorization, .subscriptionRefused: "AuthError"
        default: code.rawValue
        }
    }
}
