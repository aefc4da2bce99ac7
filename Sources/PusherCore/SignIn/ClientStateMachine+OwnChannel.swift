import PusherProtocol

/// The channel on which the server sends the user's own events (protocol clause 9). The application does not know of
/// it: what goes wrong with it is reported.
extension ClientStateMachine {
    /// Does nothing where it was asked for, and neither refused nor left unanswered.
    mutating func subscribeToOwnChannel(of user: SignedInUser, now: Instant, into effects: inout [Effect]) {
        guard let attempt = connection.establishedAttempt else { return }
        switch signIn.ownChannels[user.channelName] {
        case .asked, .subscribed: return
        case nil, .overdue: break
        }
        if let other = signIn.awaitedOwnChannel { session?.signIn.ownChannels[other] = .overdue }
        session?.signIn.ownChannels[user.channelName] = .asked
        let wait = configuration.timeouts.subscription
        timers.set(.ownChannel, after: wait, into: &effects)
        session?.requests.sent(.channel(user.channelName), timeout: wait, now: now)
        effects.append(.send(attempt, .subscribe(channel: user.channelName, auth: "")))
    }

    mutating func ownChannelSucceeded(_ name: String, into effects: inout [Effect]) {
        switch signIn.ownChannels[name] {
        case nil, .subscribed: return ignore()
        case .asked: timers.cancel(.ownChannel, into: &effects)
        case .overdue: break
        }
        session?.signIn.ownChannels[name] = .subscribed
        settleSignInWaiters(into: &effects)
    }

    /// The next call of `signIn()` asks for it again, and so does the next connection.
    mutating func ownChannelRefused(_ name: String, into effects: inout [Effect]) {
        if signIn.ownChannels[name] == .asked { timers.cancel(.ownChannel, into: &effects) }
        session?.signIn.ownChannels[name] = nil
        settleSignInWaiters(into: &effects)
    }

    /// The server did not answer in time.
    mutating func ownChannelTimedOut(now: Instant, into effects: inout [Effect]) {
        guard let name = signIn.awaitedOwnChannel else { return }
        session?.signIn.ownChannels[name] = .overdue
        connection.session?.requests.timedOut(.channel(name), timeout: configuration.timeouts.subscription, now: now)
        guard signIn.user?.channelName == name else { return }
        let error = SubscriptionError(
            .timedOut,
            channelName: name,
            """
            the server did not answer the subscription to the user's own channel within \
            \(configuration.timeouts.subscription): events for the user may not come; signIn() asks for it again
            """
        )
        effects.append(.report(error.clientError))
        settleSignInWaiters(into: &effects)
    }

    mutating func ownChannelFailed(
        _ own: String,
        _ message: ServerErrorMessage,
        named name: String?,
        into effects: inout [Effect]
    ) {
        if message.isExistingSubscription {
            // What was asked for is so already.
            guard signIn.ownChannels[own] == .subscribed else { return ownChannelSucceeded(own, into: &effects) }
        } else {
            ownChannelRefused(own, into: &effects)
        }
        effects.append(.report(message.clientError(channelName: name)))
    }
}
