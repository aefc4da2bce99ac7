import PusherProtocol

/// Handles the app's requests for channels, and sends subscriptions. In every state, the app's last call determines
/// whether the client subscribes.
extension ClientStateMachine {
    // MARK: Calls

    /// The result of a call to subscribe.
    package struct SubscribeResult: Hashable, Sendable {
        package var id: ChannelID
        /// Whether the call created the channel.
        package var isNew: Bool
        /// The error, if there are too many channels; otherwise `nil`. The machine does not keep the channel of such an
        /// error. It keeps a channel with an invalid name, in the phase `.invalid`.
        package var error: SubscriptionError?
    }

    /// - Parameter isLease: Whether the app wants the channel only until ``endLease(of:_:now:into:)``.
    package mutating func subscribe(
        _ name: String,
        auth: Authorization? = nil,
        isLease: Bool = false,
        now: Instant,
        into effects: inout [Effect]
    ) -> SubscribeResult {
        let result = subscribe(name, auth: auth, now: now, into: &effects)
        subscriptions.update(name) { if isLease { $0.leaseCount += 1 } else { $0.isWantedWithoutLease = true } }
        return result
    }

    private mutating func subscribe(
        _ name: String,
        auth: Authorization?,
        now: Instant,
        into effects: inout [Effect]
    ) -> SubscribeResult {
        catchUp(now: now, into: &effects)
        // Channels that the app no longer wants do not count toward the limit, even if the server has not answered
        // their subscription yet.
        let isWanted = subscriptions.read(name) { $0.isWanted }
        guard isWanted == true || subscriptions.wantedCount < configuration.channels else {
            let error = SubscriptionError.tooManyChannels(name, count: subscriptions.wantedCount)
            return SubscribeResult(id: makeFailedChannel(error, into: &effects), isNew: true, error: error)
        }
        if isWanted != nil, var subscription = subscriptions[name] {
            let isNew = !subscription.isWanted
            if isNew {
                subscription.wantAgain(as: ChannelID(rawValue: nextSerial()))
                subscriptions[name] = subscription
            }
            if let auth {
                setAuthorization(auth, of: name, subscription.id)
                preferOwnAuthorization(of: name, now: now, into: &effects)
            }
            beginSubscription(to: name, now: now, into: &effects)
            return SubscribeResult(id: subscription.id, isNew: isNew)
        }
        let id = ChannelID(rawValue: nextSerial())
        do throws(SubscriptionError) {
            try check(name)
            subscriptions[name] = SubscriptionStateMachine(name: name, id: id, opener: configuration.boxOpener)
            if let auth { setAuthorization(auth, of: name, id) }
            beginSubscription(to: name, now: now, into: &effects)
        } catch {
            subscriptions[name] = SubscriptionStateMachine(name: name, id: id, phase: .invalid(error))
            announceFailure(of: id, error, into: &effects)
        }
        return SubscribeResult(id: id, isNew: true)
    }

    /// Checks whether the client can subscribe to a channel of this name.
    private func check(_ name: String) throws(SubscriptionError) {
        do throws(ChannelName.ValidationError) {
            _ = try ChannelName(name)
        } catch {
            throw .invalidChannelName(name, error)
        }
        if configuration.boxOpener == .nobody, ChannelKind(ofChannelNamed: name).base == .privateEncrypted {
            throw .encryptionUnavailable(name)
        }
    }

    /// Stops waiting for other authorizations, so that the next subscription uses the app's own authorization.
    private mutating func preferOwnAuthorization(of name: String, now: Instant, into effects: inout [Effect]) {
        if case .authorizing(let id)? = subscriptions[name]?.phase {
            cancelAuthorizations([id], now: now, into: &effects)
        }
        endRetry(of: .channel(name), into: &effects)
        subscriptions.update(name) { $0.stopAuthorizing() }
    }

    /// Returns the id of a channel that cannot be subscribed, and reports the reason.
    package mutating func makeFailedChannel(_ error: SubscriptionError, into effects: inout [Effect]) -> ChannelID {
        let id = makeChannel()
        announceFailure(of: id, error, into: &effects)
        return id
    }

    /// Returns the id of a channel that is never subscribed.
    package mutating func makeChannel() -> ChannelID { ChannelID(rawValue: nextSerial()) }

    /// Sets an authorization that the app made. The authorization is for the current or last connection, or for the
    /// first connection if the client has not connected yet.
    package mutating func setAuthorization(_ authorization: Authorization?, of name: String, _ id: ChannelID) {
        guard subscriptions.read(name, { $0.id }) == id else { return }
        let socketID = lastSocketID
        // Between two connections, the authorization can only be for the previous connection.
        let own = authorization.map {
            SubscriptionStateMachine.OwnAuthorization(authorization: $0, socketID: socketID)
        }
        subscriptions.update(name) { $0.ownAuthorization = own }
    }

    /// Ends a lease. Unsubscribes from the channel if this was the last lease, and the app has not subscribed without a
    /// lease.
    package mutating func endLease(of name: String, _ id: ChannelID, now: Instant, into effects: inout [Effect]) {
        guard let subscription = subscriptions[name], subscription.id == id, subscription.isWanted else { return }
        let leaseCount = max(subscription.leaseCount - 1, 0)
        subscriptions.update(name) { $0.leaseCount = leaseCount }
        if leaseCount == 0, !subscription.isWantedWithoutLease { unsubscribe(name, now: now, into: &effects) }
    }

    package mutating func unsubscribe(_ name: String, now: Instant, into effects: inout [Effect]) {
        catchUp(now: now, into: &effects)
        leave(name, now: now, into: &effects)
    }

    private mutating func leave(_ name: String, now: Instant, into effects: inout [Effect]) {
        guard var subscription = subscriptions[name], subscription.isWanted else { return }
        resumeSubscriptionWaiters(of: name, .subscriptionFailed(.unsubscribed(name, meanwhile: true)), into: &effects)
        dropClientEvents(of: subscription.id, into: &effects)
        effects.append(.retired(subscription.id))
        cancelWork(of: subscription, now: now, into: &effects)
        countDroppedHeld(subscription.decryption?.held.count ?? 0)
        let step = subscription.unsubscribe()
        subscription.waiters = []
        subscriptions[name] = step == .sendAfterAnswer ? subscription : nil
        if step != .sendAfterAnswer { connection.session?.requests.abandon(.channel(name)) }
        if step == .send { send(.unsubscribe(channel: name), into: &effects) }
    }

    /// Subscribes to a channel again, unless a subscription is under way. Without a connection, the client subscribes
    /// on the next connection.
    package mutating func resubscribe(_ name: String, _ id: ChannelID, now: Instant, into effects: inout [Effect]) {
        catchUp(now: now, into: &effects)
        guard var subscription = subscriptions[name], subscription.id == id, subscription.isWanted else { return }
        if subscription.isSubscribed {
            unsubscribeAtServer(subscription, now: now, into: &effects)
            subscription.lost(now: now)
            subscriptions[name] = subscription
        } else if case .retrying = subscription.phase {
            endRetry(of: .channel(name), into: &effects)
            subscriptions.update(name) { $0.stopAuthorizing() }
        }
        beginSubscription(to: name, now: now, into: &effects)
    }

    /// Handles the refusal of a channel that the server had confirmed. The confirmation may belong to an earlier
    /// subscription, and the refusal to the current subscription, so the client subscribes again. The client does so
    /// only once until the connection is lost or the app calls ``resubscribe(_:_:now:into:)``, because a server may
    /// refuse each time. The client does not subscribe again if it has already used the app's own authorization.
    mutating func doubtSubscription(to name: String, now: Instant, into effects: inout [Effect]) {
        guard var subscription = subscriptions[name], subscription.isSubscribed,
            !subscription.hasResubscribedAfterRefusal,
            !subscription.hasUsedOwnAuthorization
        else { return }
        unsubscribeAtServer(subscription, now: now, into: &effects)
        subscription.doubted(now: now)
        subscriptions[name] = subscription
        beginSubscription(to: name, now: now, into: &effects)
    }

    private mutating func unsubscribeAtServer(
        _ subscription: SubscriptionStateMachine,
        now: Instant,
        into effects: inout [Effect]
    ) {
        cancelWork(of: subscription, now: now, into: &effects)
        loseClientEvents(of: subscription.id, into: &effects)
        send(.unsubscribe(channel: subscription.name), into: &effects)
    }

    package mutating func unsubscribeAll(now: Instant, into effects: inout [Effect]) {
        catchUp(now: now, into: &effects)
        for name in subscriptions.wantedNames { leave(name, now: now, into: &effects) }
    }

    /// The channels that the app wants, in the order of their first subscription.
    package var wantedSubscriptions: [SubscriptionStateMachine] {
        subscriptions.wantedNames.compactMap { subscriptions[$0] }
    }

    // MARK: Sending

    /// Begins a subscription or its authorization, if there is a connection and nothing is under way.
    mutating func beginSubscription(to name: String, now: Instant, into effects: inout [Effect]) {
        guard let socketID,
            let (canBegin, kind, isRefreshingKey) = subscriptions.read(
                name,
                { ($0.canBegin, $0.kind, $0.isRefreshingKey) }
            ),
            canBegin
        else { return }
        if isRefreshingKey {
            // The authorization of the subscription brings the key.
            let id = subscriptions.read(name) { $0.keyAuthorization } ?? nil
            cancelAuthorizations(id.map { [$0] } ?? [], now: now, into: &effects)
            endRetry(of: .key(channel: name), into: &effects)
            subscriptions.update(name) { $0.decryption?.awaitNextKey() }
        }
        guard kind.requiresAuthorization else {
            return sendSubscription(to: name, SubscriptionStateMachine.Request(), now: now, into: &effects)
        }
        if let own = subscriptions.update(name, { $0.takeOwnAuthorization(socketID: socketID) }) ?? nil {
            return subscriptionAuthorized(name, .success(own), now: now, into: &effects)
        }
        let id = beginAuthorization(of: .channel(name), socketID: socketID, now: now, into: &effects)
        subscriptions.update(name) { $0.authorizationBegan(id) }
    }

    /// Cancels the authorizations and the retries of a subscription.
    mutating func cancelWork(of subscription: SubscriptionStateMachine, now: Instant, into effects: inout [Effect]) {
        cancelAuthorizations(subscription.authorizations, now: now, into: &effects)
        endRetry(of: .channel(subscription.name), into: &effects)
        endRetry(of: .key(channel: subscription.name), into: &effects)
    }

    /// Handles a failure that may pass. The client tries again after a wait. Calls that wait for the subscription
    /// continue to wait.
    mutating func postponeSubscription(
        to name: String,
        _ error: SubscriptionError,
        notBefore delay: Duration = .zero,
        now: Instant,
        into effects: inout [Effect]
    ) {
        subscriptions.update(name) { $0.postponed() }
        retry(.channel(name), after: error.clientError, notBefore: delay, now: now, into: &effects)
    }

    /// Tries again to subscribe to a channel. The client repeats a request that the server did not answer, unless the app
    /// has set another authorization.
    mutating func retrySubscription(to name: String, now: Instant, into effects: inout [Effect]) {
        guard let subscription = subscriptions[name], case .retrying(let request) = subscription.phase else { return }
        if let request, subscription.ownAuthorization == nil {
            return sendSubscription(to: name, request, now: now, into: &effects)
        }
        subscriptions.update(name) { $0.stopAuthorizing() }
        beginSubscription(to: name, now: now, into: &effects)
    }

    /// Sends the subscription as soon as the server's known rate limit allows it.
    mutating func sendSubscription(
        to name: String,
        _ request: SubscriptionStateMachine.Request,
        now: Instant,
        into effects: inout [Effect]
    ) {
        if subscriptions.queuedCount == 0 { pace.forgetOld(now: now) }
        guard maySend(now: now) else {
            subscriptions.update(name) { $0.queue(request) }
            return setPaceTimer(now: now, into: &effects)
        }
        sendAtOnce(name, request, now: now, into: &effects)
    }

    mutating func sendAtOnce(
        _ name: String,
        _ request: SubscriptionStateMachine.Request,
        now: Instant,
        into effects: inout [Effect]
    ) {
        pace.sent(now: now)
        let wait = configuration.timeouts.subscription
        connection.changeSession { $0.requests.sent(.channel(name), timeout: wait, now: now) }
        subscriptions.update(name) { $0.sent(request, deadline: now + wait) }
        let authorization = request.authorization
        let message = Envelope.subscribe(channel: name, auth: authorization?.auth, channelData: authorization?.data)
        send(message, into: &effects)
        setSubscriptionTimer(after: wait, into: &effects)
    }

    /// Handles a presence channel to which the server had already subscribed the client. In this case, the confirmation
    /// contains no members. The client unsubscribes and subscribes again. Returns `false` if the client has already
    /// done so.
    mutating func startOver(_ name: String, now: Instant, into effects: inout [Effect]) -> Bool {
        guard case .subscribing(_, var request)? = subscriptions[name]?.phase, !request.hasStartedOver else {
            return false
        }
        request.hasStartedOver = true
        send(.unsubscribe(channel: name), into: &effects)
        sendSubscription(to: name, request, now: now, into: &effects)
        return true
    }

    /// Ends the waits for the subscription.
    mutating func resumeSubscriptionWaiters(of name: String, _ outcome: WaiterOutcome, into effects: inout [Effect]) {
        guard let waiters = subscriptions.read(name, { $0.waiters }), !waiters.isEmpty else { return }
        subscriptions.update(name) { $0.waiters = [] }
        for waiter in waiters { effects.append(.resume(waiter, outcome)) }
    }

    // MARK: The subscription timeout, and loss

    mutating func endOverdueSubscriptions(now: Instant, into effects: inout [Effect]) {
        if let oldest = subscriptions.values.compactMap(\.deadline).min(), oldest <= now {
            repeatOverdueSubscriptions(now: now, into: &effects)
        }
        let overdue = subscriptions.values.filter { $0.deadline.map { $0 <= now } == true }.sorted { $0.id < $1.id }
        for subscription in overdue {
            let name = subscription.name
            let wasWanted = subscription.isWanted
            let wait = configuration.timeouts.subscription
            let words = session?.requests.words(since: .channel(name))
            connection.session?.requests.timedOut(.channel(name), timeout: wait, now: now)
            let error = SubscriptionError.timedOut(name, after: wait, serverSaid: words)
            if wasWanted {
                postponeSubscription(to: name, error, now: now, into: &effects)
            } else {
                // If the server is only slow, it may still subscribe the client, so the client must unsubscribe.
                failSubscription(name, error, now: now, into: &effects)
                connection.session?.requests.abandon(.channel(name))
                send(.unsubscribe(channel: name), into: &effects)
            }
        }
        if let oldest = subscriptions.values.compactMap(\.deadline).min() {
            setSubscriptionTimer(after: oldest - now, into: &effects)
        }
    }

    /// Starts the timer for the oldest pending subscription, unless it is running. An answer does not stop the timer.
    /// When the timer fires, the client sets it for the oldest pending subscription.
    private mutating func setSubscriptionTimer(after wait: Duration, into effects: inout [Effect]) {
        if !timers.isRunning(.subscription) { timers.set(.subscription, after: wait, into: &effects) }
    }

    /// Handles the loss of the connection with all subscriptions.
    mutating func loseSubscriptions(now: Instant, into effects: inout [Effect]) {
        for (name, isWanted) in subscriptions.values.map({ ($0.name, $0.isWanted) }) {
            if isWanted {
                subscriptions.update(name) { $0.lost(now: now) }
            } else {
                subscriptions[name] = nil
            }
        }
        timers.cancel(.subscription, into: &effects)
    }
}
