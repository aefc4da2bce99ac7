import PusherProtocol

/// Handles `pusher:error` after the handshake (protocol clause 6.2).
///
/// The connection stays open after the error. A server that wants to drop the client closes the connection. Most
/// servers do not say which message caused an error. Each rule of ``subject(of:named:)`` therefore describes the
/// observed behaviour of a server.
extension ClientStateMachine {
    mutating func receivedError(_ envelope: Envelope, now: Instant, into effects: inout [Effect]) {
        let message = ServerErrorMessage(envelope)
        connection.session?.reportedCode = message.code.map { ReportedCode(code: $0, time: now) }
        connection.session?.clientSilence.expectLoss(until: now + KeepAlive.explanationTime)
        switch subject(of: message, named: envelope.channel) {
        case .clientEvent:
            clientEventRejected(message, named: envelope.channel, into: &effects)
        case .rateLimit:
            rateExceeded(message, now: now, into: &effects)
        case .ownChannel(let name):
            answered(.channel(name), now: now, into: &effects)
            ownChannelErrorReceived(name, message, named: envelope.channel, into: &effects)
        case .signIn:
            answered(.signIn, now: now, into: &effects)
            failSignIn(message.clientError(.signInFailed), now: now, into: &effects)
        case .subscription(let name):
            answered(.channel(name), now: now, into: &effects)
            subscriptionErrorReceived(name, message, now: now, into: &effects)
        case .nothingPending(let answeredChannel):
            if let answeredChannel { answered(.channel(answeredChannel), now: now, into: &effects) }
            effects.append(.report(message.clientError(channelName: envelope.channel)))
        case .unnamed:
            receivedUnnamed(message, now: now, into: &effects)
        }
    }

    // MARK: Rules

    private enum ErrorSubject {
        case clientEvent
        /// The server's rate limit is reached. The server does not say which message it has dropped: a client event, a
        /// ping or subscriptions.
        case rateLimit
        case ownChannel(String)
        case signIn
        /// The pending subscription to this channel.
        case subscription(String)
        /// No pending request. The error may be a late answer to an earlier subscription.
        case nothingPending(answered: String?)
        /// The error names no request. It may concern an unanswered request, or anything else.
        case unnamed
    }

    /// - Parameter name: The channel in the envelope. Pylon and soketi name the channel there.
    private func subject(of message: ServerErrorMessage, named name: String?) -> ErrorSubject {
        // Pusher and most other servers send this code only for client events. Reverb counts all messages, and its
        // error is "Rate limit exceeded".
        if message.isRejection {
            let isClientEvent =
                name != nil || message.concernsClientEvent || clientEventChannel(named: message) != nil
            return isClientEvent ? .clientEvent : .rateLimit
        }
        if let name = ownChannel(named: name, message) { return .ownChannel(name) }
        if isAboutSignIn(message, named: name) { return .signIn }
        if let name = pendingChannel(named: name, message) { return .subscription(name) }
        let isNamed = name != nil || message.channelNamed { subscriptions[$0] != nil } != nil
        guard isNamed || message.isExistingSubscription || message.isMissingSubscription || message.quotesUserData
        else {
            return .unnamed
        }
        // The error is the answer to an unsubscribe message.
        if message.isMissingSubscription { return .nothingPending(answered: nil) }
        return .nothingPending(answered: name ?? message.channelNamed { session?.requests.sent[.channel($0)] != nil })
    }

    /// Returns the pending channel that the error is about. Pusher's messages contain the name, for example "Existing
    /// subscription to channel a" or "Auth info required to subscribe to a".
    private func pendingChannel(named name: String?, _ message: ServerErrorMessage) -> String? {
        // "No current subscription to channel a" may answer an earlier unsubscribe of a channel that is subscribed
        // again.
        guard !message.isMissingSubscription else { return nil }
        if let name { return subscriptions[name]?.isPending == true ? name : nil }
        // The error may belong to a sign-in that has timed out. Pusher quotes the signed string of a sign-in.
        guard !message.quotesUserData else { return nil }
        return message.channelNamed { subscriptions[$0]?.isPending == true }
    }

    private func ownChannel(named name: String?, _ message: ServerErrorMessage) -> String? {
        let ownChannels = signIn.ownChannels
        guard !ownChannels.isEmpty, !message.isMissingSubscription, !message.quotesUserData else { return nil }
        if let name { return ownChannels[name] == nil ? nil : name }
        return ownChannels.keys.filter(message.hasName).max { $0.utf8.count < $1.utf8.count }
    }

    /// Returns whether the error is the refusal of a sign-in. Such an error has no channel. Pusher quotes the signed
    /// string, and pylon and soketi mention the sign-in.
    private func isAboutSignIn(_ message: ServerErrorMessage, named name: String?) -> Bool {
        guard signIn.isAwaitingServer, name == nil, message.canRefuseSignIn else { return false }
        if message.quotesUserData { return true }
        // If a channel has the name "signin", the error may be about this channel.
        return message.concernsSignIn && message.channelNamed(where: { subscriptions[$0] != nil }) == nil
    }

    /// Returns whether the error can only be about a subscription or the sign-in. Reverb's refusals do not name the
    /// request.
    private func isRefusalOfRequest(_ message: ServerErrorMessage, now: Instant) -> Bool {
        guard message.canRefuseSubscription || message.isInvalidMessage else { return false }
        // If the app has sent other messages, the error may also be the answer to an invalid message.
        let hasOwnMessage = session?.ownMessageSentAt.map { now - $0 < .seconds(10) } ?? false
        return message.isUnauthorized || !hasOwnMessage && !clientEvents.hasRecent(now: now)
    }

    // MARK: Consequences

    private mutating func subscriptionErrorReceived(
        _ name: String,
        _ message: ServerErrorMessage,
        now: Instant,
        into effects: inout [Effect]
    ) {
        if message.isExistingSubscription {
            // Pusher and slanger send this error if they missed the client's earlier unsubscribe message, or have not
            // handled it yet.
            guard subscriptions[name]?.roster != nil, subscriptions[name]?.isWanted == true else {
                let success = Envelope(event: EventName.subscriptionSucceededInternal, channel: name)
                return subscriptionSucceeded(success, now: now, into: &effects)
            }
            if startOver(name, now: now, into: &effects) { return }
        }
        effects.append(.report(message.clientError(channelName: name)))
        failSubscription(name, .refused(name, message), now: now, into: &effects)
    }

    /// Handles an error about the server's rate limit. The error does not name the dropped message, which may be a
    /// client event, a ping or any unanswered request.
    private mutating func rateExceeded(_ message: ServerErrorMessage, now: Instant, into effects: inout [Effect]) {
        _ = connection.session?.requests.received(message, isRefusal: false, now: now)
        let isClientEvent = clientEvents.takeRejection(now: now)
        if isClientEvent {
            clientEventRejected(message, named: nil, into: &effects)
            // Most servers have a limit for client events only, so the subscriptions are not affected.
            if !pace.hasLimit { return }
        }
        if !isClientEvent, pingRejected(now: now, into: &effects), subscriptions.pendingCount == 0 { return }
        guard let lastNumber = session?.requests.lastUnanswered else {
            if isClientEvent { return }
            guard clientEvents.hasRecent(now: now) else { return effects.append(.report(message.clientError())) }
            return clientEventRejected(message, named: nil, into: &effects)
        }
        // If the server drops several subscriptions, it sends an error for each of them. The client reports only the
        // first error.
        let isNews = pace.exceeded(message, lastNumber: lastNumber, now: now)
        if isNews, !isClientEvent { effects.append(.report(message.clientError())) }
        guard subscriptions.pendingCount > 0 else { return }
        // A running timer may fire only at the next window, which may be a minute away, so the client sets a new timer.
        if isNews { timers.cancel(.subscriptionPace, into: &effects) }
        setPaceTimer(now: now, into: &effects)
    }

    private mutating func receivedUnnamed(
        _ message: ServerErrorMessage,
        now: Instant,
        into effects: inout [Effect]
    ) {
        let isRefusal = isRefusalOfRequest(message, now: now)
        let faults = connection.session?.requests.received(message, isRefusal: isRefusal, now: now) ?? []
        var channel: String?
        if faults.count == 1, let fault = faults.first {
            switch fault.request {
            // The client reports the failed sign-in instead of this error.
            case .signIn where signIn.isAwaitingServer: return failRequests(faults, now: now, into: &effects)
            case .channel(let name) where subscriptions[name] != nil: channel = name
            case .signIn, .channel, .abandoned: break
            }
        }
        effects.append(.report(message.clientError(channelName: channel)))
        failRequests(faults, now: now, into: &effects)
    }

    mutating func failRequests(_ faults: [UnansweredRequests.Fault], now: Instant, into effects: inout [Effect]) {
        for fault in faults {
            let message = fault.message
            switch fault.request {
            case .signIn where signIn.isAwaitingServer:
                failSignIn(message.clientError(.signInFailed), now: now, into: &effects)
            case .channel(let name) where subscriptions[name]?.isPending == true:
                pace.answered(now: now)
                failSubscription(name, .refused(name, message), now: now, into: &effects)
            case .channel(let name) where signIn.ownChannels[name] != nil:
                ownChannelRefused(name, into: &effects)
            case .signIn, .channel, .abandoned:
                // The request is no longer needed.
                break
            }
        }
    }
}
