import PusherProtocol

/// Channels: what the application wants, and what the server says to it. The last call wins, in every state.
extension ClientStateMachine {
    // MARK: Calls

    /// What a call to subscribe found or made.
    package struct SubscribeResult: Hashable, Sendable {
        package var id: ChannelID
        /// False where the application has this channel already.
        package var isNew: Bool
    }

    package mutating func subscribe(_ name: String, now: Instant, into effects: inout [Effect]) -> SubscribeResult {
        catchUp(now: now, into: &effects)
        if var subscription = subscriptions[name] {
            if subscription.isWanted {
                sendSubscribe(name, now: now, into: &effects)
                return SubscribeResult(id: subscription.id, isNew: false)
            }
            subscription.reinstate(as: ChannelID(rawValue: nextSerial()))
            subscriptions[name] = subscription
            return SubscribeResult(id: subscription.id, isNew: true)
        }
        let id = ChannelID(rawValue: nextSerial())
        if let error = Self.reasonNotToSubscribe(name) {
            subscriptions[name] = SubscriptionStateMachine(name: name, id: id, phase: .invalid(error))
            effects.append(.subscriptionFailed(id, error, Self.failureEvent(name, error)))
        } else {
            subscriptions[name] = SubscriptionStateMachine(name: name, id: id)
            sendSubscribe(name, now: now, into: &effects)
        }
        return SubscribeResult(id: id, isNew: true)
    }

    package mutating func unsubscribe(_ name: String, now: Instant, into effects: inout [Effect]) {
        catchUp(now: now, into: &effects)
        guard var subscription = subscriptions[name], subscription.isWanted else { return }
        let error = PusherClientError(.unsubscribed, "the channel \(name) was unsubscribed", channelName: name)
        failWaiters(of: name, error, into: &effects)
        effects.append(.retired(subscription.id))
        let (action, mustStay) = subscription.unsubscribe()
        subscription.waiters = []
        subscriptions[name] = mustStay ? subscription : nil
        send(action, for: name, into: &effects)
    }

    package mutating func unsubscribeAll(now: Instant, into effects: inout [Effect]) {
        for subscription in wantedSubscriptions { unsubscribe(subscription.name, now: now, into: &effects) }
    }

    /// The channels that the application wants, in the order of their first subscription.
    package var wantedSubscriptions: [SubscriptionStateMachine] {
        subscriptions.values.filter(\.isWanted).sorted { $0.id < $1.id }
    }

    /// Why a channel of that name can never be subscribed; nil where it can.
    private static func reasonNotToSubscribe(_ name: String) -> PusherClientError? {
        do {
            let kind = try ChannelName(name).kind
            guard kind.requiresAuthorization else { return nil }
            return PusherClientError(
                .unsupportedChannel,
                "\(name) needs an authorization, and this version subscribes to public channels only",
                channelName: name
            )
        } catch {
            return PusherClientError(
                .invalidChannelName,
                "\(String(reflecting: name)) cannot be subscribed: \(error)",
                channelName: name
            )
        }
    }

    // MARK: What the server says

    mutating func subscriptionSucceeded(
        _ envelope: Envelope,
        on attempt: AttemptID,
        now: Instant,
        into effects: inout [Effect]
    ) {
        guard let name = envelope.channel else { return }
        if !subscriptionSucceeded(name, envelope, now: now, into: &effects) {
            // It was given up while the server made up its mind.
            subscriptions[name] = nil
            effects.append(.send(attempt, .unsubscribe(channel: name)))
        }
    }

    /// False where nobody wants the channel.
    mutating func subscriptionSucceeded(
        _ name: String,
        _ envelope: Envelope,
        now: Instant,
        into effects: inout [Effect]
    ) -> Bool {
        guard var subscription = subscriptions[name], subscription.isWanted else { return false }
        let (isNews, away) = subscription.succeeded(now: now)
        guard isNews else { return true }
        let waiters = subscription.waiters
        subscription.waiters = []
        subscriptions[name] = subscription
        var event = envelope
        event.event = EventName.subscriptionSucceeded
        effects.append(.subscribed(subscription.id, event, away: away))
        for waiter in waiters { effects.append(.resume(waiter, .done)) }
        return true
    }

    /// The form in which soketi, pylon and others refuse: the channel is named.
    mutating func subscriptionRefused(_ envelope: Envelope, now: Instant, into effects: inout [Effect]) {
        let value = envelope.data.value
        let message = value?["error"]?.string.map(ServerErrorMessage.presentable) ?? "the server gave no reason"
        let error = PusherClientError(
            .subscriptionRefused,
            message,
            serverCode: value?["status"]?.integer,
            channelName: envelope.channel
        )
        guard let name = envelope.channel, subscriptions[name]?.isPending == true else {
            return effects.append(.report(error))
        }
        var event = envelope
        event.event = EventName.subscriptionError
        failSubscription(name, error, event: event, now: now, into: &effects)
    }

    mutating func failSubscription(
        _ name: String,
        _ error: PusherClientError,
        event: Envelope?,
        now: Instant,
        into effects: inout [Effect]
    ) {
        guard var subscription = subscriptions[name], subscription.isPending else { return }
        guard subscription.isWanted else {
            subscriptions[name] = nil
            return
        }
        subscription.failed(error)
        let waiters = subscription.waiters
        subscription.waiters = []
        subscriptions[name] = subscription
        effects.append(.subscriptionFailed(subscription.id, error, event ?? Self.failureEvent(name, error)))
        for waiter in waiters { effects.append(.resume(waiter, .failed(error))) }
    }

    /// `pusher:subscription_error` as the client itself makes it: its data has the members that pusher-js gives it.
    private static func failureEvent(_ name: String, _ error: PusherClientError) -> Envelope {
        var data: [String: JSONValue] = ["type": .string(error.code.rawValue), "error": .string(error.message)]
        if let status = error.serverCode { data["status"] = .integer(status) }
        return Envelope(
            event: EventName.subscriptionError,
            channel: name,
            data: .string(JSONValue.object(data).jsonText)
        )
    }

    // MARK: Sending

    mutating func sendSubscribe(_ name: String, now: Instant, into effects: inout [Effect]) {
        guard var subscription = subscriptions[name] else { return }
        let deadline = connection.session.map { _ in now + configuration.timeouts.subscription }
        let action = subscription.subscribe(deadline: deadline)
        guard action != .none else { return }
        subscriptions[name] = subscription
        send(action, for: name, into: &effects)
        setSubscriptionTimer(after: configuration.timeouts.subscription, into: &effects)
    }

    private func send(
        _ action: SubscriptionStateMachine.Action,
        for name: String,
        into effects: inout [Effect]
    ) {
        guard let attempt = connection.session?.attempt else { return }
        switch action {
        case .none: break
        case .subscribe: effects.append(.send(attempt, .subscribe(channel: name)))
        case .unsubscribe: effects.append(.send(attempt, .unsubscribe(channel: name)))
        }
    }

    mutating func failWaiters(of name: String, _ error: PusherClientError, into effects: inout [Effect]) {
        for waiter in subscriptions[name]?.waiters ?? [] { effects.append(.resume(waiter, .failed(error))) }
        subscriptions[name]?.waiters = []
    }

    // MARK: The subscription timeout, and loss

    mutating func endOverdueSubscriptions(now: Instant, into effects: inout [Effect]) {
        let pending = subscriptions.values.filter(\.isPending)
        let overdue = pending.filter { ($0.deadline ?? now) <= now }.sorted { $0.id < $1.id }
        for subscription in overdue {
            let name = subscription.name
            let wasWanted = subscription.isWanted
            let error = PusherClientError(
                .subscriptionTimedOut,
                "the server did not answer the subscription to \(name) within \(configuration.timeouts.subscription)",
                channelName: name
            )
            failSubscription(name, error, event: nil, now: now, into: &effects)
            // Where the server was only slow, it must not keep a subscription that nobody has.
            if !wasWanted { send(.unsubscribe, for: name, into: &effects) }
        }
        if let oldest = subscriptions.values.compactMap(\.deadline).min() {
            setSubscriptionTimer(after: oldest - now, into: &effects)
        }
    }

    /// Sees to it that a timer runs while a subscription is under way. One that was answered does not stop it: when it
    /// fires it is set for the oldest that is left, or not at all.
    private mutating func setSubscriptionTimer(after wait: Duration, into effects: inout [Effect]) {
        guard subscriptionTimer == nil else { return }
        let timer = TimerID(.subscription, nextSerial())
        subscriptionTimer = timer
        effects.append(.schedule(timer, after: wait))
    }

    mutating func loseSubscriptions(now: Instant, into effects: inout [Effect]) {
        for (name, subscription) in subscriptions {
            if subscription.isWanted {
                subscriptions[name]?.connectionLost(now: now)
            } else {
                subscriptions[name] = nil
            }
        }
        if let timer = subscriptionTimer {
            effects.append(.cancel(timer))
            subscriptionTimer = nil
        }
    }
}
