import PusherProtocol

/// Handles the sign-in, the user's own events, and the watchlist (protocol clause 9).
extension ClientStateMachine {
    // MARK: Calls

    /// Signs the user in, now or as soon as there is a connection. Signs the user in again on each later connection.
    package mutating func signIn(now: Instant, into effects: inout [Effect]) {
        catchUp(now: now, into: &effects)
        isSignInWanted = true
        switch session?.signIn.phase {
        case nil, .authorizing, .signingIn, .retrying: break
        case .signedIn(let user): subscribeToOwnChannel(of: user, now: now, into: &effects)
        case .idle, .failed: beginSignIn(now: now, into: &effects)
        }
    }

    /// Signs in, and ends the wait when the sign-in has succeeded or failed. After a success, the call also waits for
    /// the answer to the subscription to the user's own channel, or for its timeout.
    package mutating func awaitSignIn(_ waiter: WaiterID, now: Instant, into effects: inout [Effect]) {
        guard !isReleased else { return effects.append(.resume(waiter, .failed(.released))) }
        signIn(now: now, into: &effects)
        switch session?.signIn.phase {
        case .signedIn where !signIn.isAwaitingOwnChannel:
            effects.append(.resume(waiter, .done))
        case .failed(let error):
            effects.append(.resume(waiter, .failed(error)))
        case nil, .idle, .authorizing, .signingIn, .retrying, .signedIn:
            if let error = connection.failure { return effects.append(.resume(waiter, .failed(error))) }
            signInWaiters.append(waiter)
        }
    }

    /// Signs the user out. The protocol has no message for a sign-out. The connection stays open, and the client drops
    /// messages for the user.
    package mutating func signOut(now: Instant, into effects: inout [Effect]) {
        guard isSignInWanted else { return }
        isSignInWanted = false
        cancelSignInWork(now: now, into: &effects)
        endRetry(of: .signIn, into: &effects)
        endRetry(of: .ownChannel, into: &effects)
        connection.session?.signIn.signedOut()
        resumeSignInWaiters(.failed(.signedOut), into: &effects)
        continuePresenceSubscriptions(now: now, into: &effects)
    }

    // MARK: Steps

    mutating func beginSignIn(now: Instant, into effects: inout [Effect]) {
        guard isSignInWanted, let socketID else { return }
        let id = beginAuthorization(of: .user, socketID: socketID, now: now, into: &effects)
        // Even if the authorization fails at once, the outcome is a later input, so this phase overwrites no later
        // phase.
        connection.session?.signIn.authorizationBegan(id)
    }

    mutating func signInAuthorized(
        _ result: Result<Authorization, AuthorizationError>,
        now: Instant,
        into effects: inout [Effect]
    ) {
        switch result {
        case .failure(let error):
            let failure = error.clientError(.signInFailed)
            guard let delay = retryDelay(after: error, of: .signIn) else {
                return failSignIn(failure, now: now, into: &effects)
            }
            postponeSignIn(failure, notBefore: delay, now: now, into: &effects)
        case .success(let authorization):
            do throws(Authorization.Problem) {
                connection.session?.signIn.sent(userID: try Self.userID(ofUser: authorization))
            } catch {
                return failSignIn(.invalidUserAuthorization(error), now: now, into: &effects)
            }
            let wait = configuration.timeouts.signIn
            timers.set(.signIn, after: wait, into: &effects)
            connection.session?.requests.sent(.signIn, timeout: wait, now: now)
            let message = Envelope.signIn(auth: authorization.auth, userData: authorization.data ?? "")
            send(message, into: &effects)
        }
    }

    static func userID(ofUser authorization: Authorization) throws(Authorization.Problem) -> String {
        try check(authorization)
        guard let data = authorization.data else { throw .noUserData }
        guard let value = JSONValue(parsing: data), value.object != nil else { throw .userDataIsNoObject }
        guard let id = value["id"]?.identifier, !id.isEmpty else { throw .userDataHasNoID }
        return id
    }

    mutating func signInSucceeded(_ envelope: Envelope, now: Instant, into effects: inout [Effect]) {
        guard session != nil, isSignInWanted, signIn.user == nil else {
            countIgnored()
            return answered(.signIn, now: now, into: &effects)
        }
        guard let user = SignedInUser(envelope.data) else {
            var error = PusherClientError.unusable(envelope, .noUser)
            guard signIn.isAwaitingServer else { return reportMalformed(error, into: &effects) }
            error.code = .signInFailed
            failSignIn(error, now: now, into: &effects)
            return answered(.signIn, now: now, into: &effects)
        }
        guard signIn.isMeant(user) else { return countIgnored() }
        cancelSignInWork(now: now, into: &effects)
        endRetry(of: .signIn, into: &effects)
        connection.session?.signIn.succeeded(user)
        statistics.signIns.succeeded += 1
        subscribeToOwnChannel(of: user, now: now, into: &effects)
        effects.append(.signedIn(user, envelope))
        settleSignInWaiters(into: &effects)
        continuePresenceSubscriptions(now: now, into: &effects)
        retryPresenceChannels(now: now, into: &effects)
        answered(.signIn, now: now, into: &effects)
    }

    /// Ends the waits for the sign-in, unless the subscription to the user's own channel is pending. Until the server
    /// confirms this subscription, events from the backend to the user are lost.
    mutating func settleSignInWaiters(into effects: inout [Effect]) {
        guard signIn.user != nil, !signIn.isAwaitingOwnChannel else { return }
        resumeSignInWaiters(.done, into: &effects)
    }

    mutating func resumeSignInWaiters(_ outcome: WaiterOutcome, into effects: inout [Effect]) {
        for waiter in signInWaiters { effects.append(.resume(waiter, outcome)) }
        signInWaiters = []
    }

    /// Subscribes again to the presence channels whose authorization was invalid. The reason may be that no user was
    /// signed in.
    private mutating func retryPresenceChannels(now: Instant, into effects: inout [Effect]) {
        for subscription in wantedSubscriptions where subscription.roster != nil {
            guard case .failed(let error) = subscription.phase, error.code == .invalidAuthorization else { continue }
            beginSubscription(to: subscription.name, now: now, into: &effects)
        }
    }

    /// Handles a sign-in that the server did not answer in time.
    mutating func signInTimedOut(now: Instant, into effects: inout [Effect]) {
        let wait = configuration.timeouts.signIn
        let words = session?.requests.words(since: .signIn)
        connection.session?.requests.timedOut(.signIn, timeout: wait, now: now)
        postponeSignIn(.signInTimedOut(after: wait, serverSaid: words), now: now, into: &effects)
    }

    /// Handles a failure that may pass. The client tries again after a wait. Calls that wait for the sign-in, and
    /// presence channels that need the user, continue to wait.
    private mutating func postponeSignIn(
        _ error: PusherClientError,
        notBefore delay: Duration = .zero,
        now: Instant,
        into effects: inout [Effect]
    ) {
        cancelSignInWork(now: now, into: &effects)
        connection.session?.signIn.postponed()
        retry(.signIn, after: error, notBefore: delay, now: now, into: &effects)
    }

    mutating func failSignIn(_ error: PusherClientError, now: Instant, into effects: inout [Effect]) {
        cancelSignInWork(now: now, into: &effects)
        endRetry(of: .signIn, into: &effects)
        connection.session?.signIn.failed(error)
        announceSignInFailure(error, into: &effects)
        resumeSignInWaiters(.failed(error), into: &effects)
        continuePresenceSubscriptions(now: now, into: &effects)
    }

    /// Tells the app that the sign-in failed.
    mutating func announceSignInFailure(_ error: PusherClientError, into effects: inout [Effect]) {
        statistics.signIns.failed += 1
        var data: WireTable<JSONValue> = ["type": "AuthError", "error": .string(error.message)]
        let status = (error.cause as? AuthorizationError)?.httpStatus ?? error.serverCode
        if let status { data["status"] = .integer(status) }
        let event = Envelope(event: EventName.signInError, data: .string(JSONValue.object(data).jsonText))
        effects.append(.signInFailed(error, event))
    }

    /// Cancels the authorization and the timer of the sign-in.
    private mutating func cancelSignInWork(now: Instant, into effects: inout [Effect]) {
        if case .authorizing(let id)? = session?.signIn.phase { cancelAuthorizations([id], now: now, into: &effects) }
        timers.cancel(.signIn, into: &effects)
    }

    // MARK: Messages for the user

    /// Delivers an event of a channel that is not subscribed. The user's listeners get the events of the user's own
    /// channel, and the machine drops all other events.
    mutating func deliverToUserOrDrop(_ envelope: Envelope, into effects: inout [Effect]) {
        statistics.events.received += 1
        guard let user = signIn.user, envelope.channel?.hasSameBytes(as: user.channelName) == true,
            !EventName.isProtocolEvent(envelope.event)
        else {
            statistics.events.dropped[.notSubscribed, default: 0] += 1
            return
        }
        statistics.events.delivered += 1
        effects.append(.deliverToUser(envelope))
    }

    mutating func watchlistChanged(_ envelope: Envelope, into effects: inout [Effect]) {
        guard signIn.user != nil else { return countIgnored() }
        guard let events = envelope.data.value?["events"]?.array else {
            return reportMalformed(.unusable(envelope, .noEvents), into: &effects)
        }
        var isReported = false
        for event in events {
            guard let name = event["name"]?.string, let ids = event["user_ids"]?.array?.compactMap(\.identifier) else {
                // The client reports the error only once, because a message can contain millions of such events.
                if !isReported { reportMalformed(.unusable(envelope, .incompleteEvent), into: &effects) }
                isReported = true
                continue
            }
            let leavesOut = connection.session?.signIn.watched(name, ids, configuration.members) ?? false
            effects.append(.watchlistChanged(WatchlistEvent(name: name, userIds: ids)))
            if leavesOut { effects.append(.report(.watchedUsersLeftOut(configuration.members))) }
        }
    }

    // MARK: The user's own channel

    /// Subscribes to the user's own channel, unless the subscription is already pending or confirmed on this
    /// connection.
    mutating func subscribeToOwnChannel(of user: SignedInUser, now: Instant, into effects: inout [Effect]) {
        switch signIn.ownChannels[user.channelName] {
        case .asked, .subscribed: return
        case nil, .overdue: break
        }
        if let other = signIn.awaitedOwnChannel { connection.session?.signIn.ownChannels[other] = .overdue }
        connection.session?.signIn.ownChannels[user.channelName] = .asked
        let wait = configuration.timeouts.subscription
        timers.set(.ownChannel, after: wait, into: &effects)
        connection.session?.requests.sent(.channel(user.channelName), timeout: wait, now: now)
        send(.subscribe(channel: user.channelName, auth: ""), into: &effects)
    }

    mutating func ownChannelSucceeded(_ name: String, into effects: inout [Effect]) {
        switch signIn.ownChannels[name] {
        case nil, .subscribed: return countIgnored()
        case .asked: timers.cancel(.ownChannel, into: &effects)
        case .overdue: break
        }
        endOwnChannelRetry(of: name, into: &effects)
        connection.session?.signIn.ownChannels[name] = .subscribed
        settleSignInWaiters(into: &effects)
    }

    /// Handles the server's refusal of the user's own channel. The client tries again on the next connection, or when
    /// the app calls `signIn()`.
    mutating func ownChannelRefused(_ name: String, into effects: inout [Effect]) {
        if signIn.ownChannels[name] == .asked { timers.cancel(.ownChannel, into: &effects) }
        endOwnChannelRetry(of: name, into: &effects)
        connection.session?.signIn.ownChannels[name] = nil
        settleSignInWaiters(into: &effects)
    }

    /// Ends the retries of the user's own channel, if the answer is about this channel. A late answer may be about the
    /// channel of a previous user, or about a channel of the app.
    private mutating func endOwnChannelRetry(of name: String, into effects: inout [Effect]) {
        guard signIn.user?.channelName.hasSameBytes(as: name) == true else { return }
        endRetry(of: .ownChannel, into: &effects)
    }

    /// Handles a subscription to the user's own channel that the server did not answer in time. The user is signed in, so
    /// calls that wait for the sign-in return, and the client tries again after a wait.
    mutating func ownChannelTimedOut(now: Instant, into effects: inout [Effect]) {
        guard let name = signIn.awaitedOwnChannel else { return }
        connection.session?.signIn.ownChannels[name] = .overdue
        connection.session?.requests.timedOut(.channel(name), timeout: configuration.timeouts.subscription, now: now)
        guard signIn.user?.channelName.hasSameBytes(as: name) == true else { return }
        let error = SubscriptionError.ownChannelTimedOut(name, after: configuration.timeouts.subscription)
        retry(.ownChannel, after: error.clientError, now: now, into: &effects)
        settleSignInWaiters(into: &effects)
    }

    /// Handles an error about the user's own channel. "Existing subscription" means that the channel is subscribed.
    mutating func ownChannelErrorReceived(
        _ own: String,
        _ message: ServerErrorMessage,
        named name: String?,
        into effects: inout [Effect]
    ) {
        if message.isExistingSubscription {
            // If the client has already handled the confirmation, it only reports the error.
            guard signIn.ownChannels[own] == .subscribed else { return ownChannelSucceeded(own, into: &effects) }
        } else {
            ownChannelRefused(own, into: &effects)
        }
        effects.append(.report(message.clientError(channelName: name)))
    }
}
