import PusherProtocol
import RealtimePrimitives

/// Errors that name nothing: whose they are is what the server answers to the others (protocol clause 6.2).
extension ClientStateMachine {
    /// The server has answered a request. Errors that it did not explain may be another one's now.
    mutating func answered(_ request: UnansweredRequests.Request, now: Instant, into effects: inout [Effect]) {
        guard let faults = session?.requests.answered(request) else { return }
        if case .channel(let name) = request, signIn.ownChannels[name] == nil { pace.answered(now: now) }
        fail(faults, now: now, into: &effects)
        sendQueuedSubscriptions(now: now, into: &effects)
    }

    /// An error came that names no request whose answer is awaited.
    mutating func receivedUnclaimed(
        _ message: ServerErrorMessage,
        named name: String?,
        now: Instant,
        into effects: inout [Effect]
    ) {
        guard name == nil, !message.isExistingSubscription, !message.isMissingSubscription, !message.quotesUserData,
            message.channelNamed(where: { subscriptions[$0] != nil }) == nil
        else {
            let late = name ?? message.channelNamed { session?.requests.sent[.channel($0)] != nil }
            if let late, !message.isMissingSubscription { answered(.channel(late), now: now, into: &effects) }
            return effects.append(.report(message.clientError(channelName: name)))
        }
        receivedNameless(message, now: now, into: &effects)
    }

    private mutating func receivedNameless(
        _ message: ServerErrorMessage,
        now: Instant,
        into effects: inout [Effect]
    ) {
        let canRefuse = canRefuseAnything(message, now: now)
        let faults = session?.requests.received(message, canRefuse: canRefuse, now: now) ?? []
        var channel: String?
        if faults.count == 1, let fault = faults.first {
            switch fault.request {
            // The failure says all.
            case .signIn where signIn.isAwaitingServer: return fail(faults, now: now, into: &effects)
            case .channel(let name) where subscriptions[name] != nil: channel = name
            case .signIn, .channel, .abandoned: break
            }
        }
        effects.append(.report(message.clientError(channelName: channel)))
        fail(faults, now: now, into: &effects)
    }

    /// Whether it can be about a subscription or the sign-in, and about nothing else.
    private func canRefuseAnything(_ message: ServerErrorMessage, now: Instant) -> Bool {
        guard message.canRefuseSubscription || message.isInvalidMessage else { return false }
        // Other messages are answered only where something is wrong with them.
        let hasOwnMessage = session?.ownMessageSentAt.map { now - $0 < .seconds(10) } ?? false
        return message.isUnauthorized || !hasOwnMessage && !clientEvents.hasRecent(now: now)
    }

    private mutating func fail(_ faults: [UnansweredRequests.Fault], now: Instant, into effects: inout [Effect]) {
        for fault in faults {
            let message = fault.message
            switch fault.request {
            case .signIn where signIn.isAwaitingServer:
                failSignIn(message.clientError(.signInFailed), now: now, into: &effects)
            case .channel(let name) where subscriptions[name]?.isPending == true:
                let error = SubscriptionError(.refused, channelName: name, message.message, serverCode: message.code)
                pace.answered(now: now)
                failSubscription(name, error, now: now, into: &effects)
            case .channel(let name) where signIn.ownChannels[name] != nil:
                ownChannelRefused(name, into: &effects)
            case .signIn, .channel, .abandoned:
                // It was given up.
                break
            }
        }
    }

    /// For the error about a request that was not answered in time.
    func words(since request: UnansweredRequests.Request) -> String {
        guard let message = session?.requests.words(since: request) else { return "" }
        let code = message.code.map { " (\($0))" } ?? ""
        return "; without saying of what, it said: \(message.message.quoted)\(code)"
    }
}
