import PusherEncryption
package import PusherProtocol

/// One channel that the app wants, or that the server may still have subscribed.
package struct SubscriptionStateMachine: Hashable, Sendable {
    package enum Phase: Hashable, Sendable {
        /// There is no connection.
        case idle
        /// The authorization is under way.
        case authorizing(AuthorizationID)
        /// The authorization does not name the user. It will be the user whose sign-in is under way.
        case awaitingSignIn(Authorization)
        /// The subscription is sent as soon as the server's rate limit allows it.
        case queued(Request)
        /// The subscription was sent, and has no answer yet.
        case subscribing(deadline: Instant, Request)
        /// The app unsubscribed before the answer came. The message is sent after it, because servers refuse it
        /// earlier.
        case unsubscribing(deadline: Instant, Request)
        case subscribed
        /// The server refused, or did not answer in time. The next connection tries again, or the app.
        case failed(SubscriptionError)
        /// The name can never be subscribed; nothing is ever sent.
        case invalid(SubscriptionError)
    }

    /// The message that was sent, which may have to be sent again.
    package struct Request: Hashable, Sendable {
        package var authorization: Authorization?
        /// The server already had a subscription, so the client unsubscribed and subscribes again.
        package var hasStartedOver = false
    }

    /// The state of an earlier request on this connection that was not confirmed.
    package enum EarlierRequest: Hashable, Sendable {
        /// The server did not answer in time. It may have the subscription, or may still create it.
        case unanswered
        /// The server seems to have refused, but may have meant another channel.
        case refused
    }

    /// An authorization that the app made itself.
    package struct OwnAuthorization: Hashable, Sendable {
        package var authorization: Authorization
        /// The socket id of the connection that it is for, the last one when the app set it; `nil` if there was none.
        package var socketID: String?
    }

    package let name: String
    package let kind: ChannelKind
    package private(set) var id: ChannelID
    package internal(set) var phase: Phase
    private var earlierRequest: EarlierRequest?
    /// Whether the app subscribed without a lease.
    package var isWantedWithoutLease = false
    /// The number of scopes in the app that use the channel.
    package var leaseCount = 0
    package var subscriptionCount: Int?
    /// The first connection uses it up.
    package var ownAuthorization: OwnAuthorization?
    /// True if an authorization of the app's own was used. There may be no other way to get one.
    package var hasUsedOwnAuthorization = false
    /// `nil` if the channel is not a presence channel.
    package var roster: PresenceRoster?
    /// `nil` if the channel is not encrypted.
    package var decryption: DecryptionStateMachine?
    /// Whether the server rejected a subscription that it had confirmed on this connection, and the client subscribed
    /// again.
    private(set) var hasResubscribedAfterRefusal = false
    /// When the subscription was lost; nil if there was none.
    private var lostAt: Instant?
    package var waiters: [WaiterID] = []

    package init(name: String, id: ChannelID, phase: Phase = .idle) {
        self.name = name
        self.id = id
        self.phase = phase
        kind = ChannelKind(ofChannelNamed: name)
        roster = kind.base == .presence ? PresenceRoster() : nil
        decryption = kind.base == .privateEncrypted ? DecryptionStateMachine() : nil
    }

    /// `false` if the app has unsubscribed, and the server has not answered yet.
    package var isWanted: Bool {
        if case .unsubscribing = phase { false } else { true }
    }

    package var isSubscribed: Bool { phase == .subscribed }

    /// Whether events of the channel are for the app. Messages with an invalid name may be for the signed-in user.
    package var hasEvents: Bool {
        if case .invalid = phase { false } else { isWanted }
    }

    package var deadline: Instant? {
        switch phase {
        case .subscribing(let deadline, _), .unsubscribing(let deadline, _): deadline
        case .idle, .authorizing, .awaitingSignIn, .queued, .subscribed, .failed, .invalid: nil
        }
    }

    package var isAuthorizing: Bool {
        if case .authorizing = phase { true } else { false }
    }

    /// True for the kinds of channels that accept client events.
    package var sendsClientEvents: Bool { kind.base == .private || kind.base == .presence }

    /// True if the subscription was sent, and has no answer.
    package var isPending: Bool { deadline != nil }

    /// True if it will be sent as soon as the server's rate limit allows it.
    package var isQueued: Bool {
        if case .queued = phase { true } else { false }
    }

    /// True if the subscription can begin.
    package var canBegin: Bool {
        switch phase {
        case .idle, .failed: true
        case .authorizing, .awaitingSignIn, .queued, .subscribing, .unsubscribing, .subscribed, .invalid: false
        }
    }

    /// The authorizations that are under way, for the subscription or for its key.
    package var authorizations: [AuthorizationID] {
        var ids: [AuthorizationID] = []
        if case .authorizing(let id) = phase { ids.append(id) }
        if case .refreshing(let id)? = decryption?.phase { ids.append(id) }
        return ids
    }

    /// Returns `false` if it does not wait, or not any more.
    package mutating func cancelWaiter(_ waiter: WaiterID) -> Bool {
        guard let index = waiters.firstIndex(of: waiter) else { return false }
        waiters.remove(at: index)
        return true
    }

    /// The app's own authorization, if it is for this connection.
    package mutating func takeOwnAuthorization(socketID: String) -> Authorization? {
        guard let own = ownAuthorization else { return nil }
        ownAuthorization = nil
        hasUsedOwnAuthorization = true
        return own.socketID == nil || own.socketID == socketID ? own.authorization : nil
    }

    /// Handles that the app subscribes again before the unsubscribe message was sent. The old subscription continues,
    /// with a new channel object.
    package mutating func reinstate(as id: ChannelID) {
        self.id = id
        if case .unsubscribing(let deadline, let request) = phase { phase = .subscribing(deadline: deadline, request) }
        isWantedWithoutLease = false
        leaseCount = 0
        subscriptionCount = nil
        lostAt = nil
        ownAuthorization = nil
        roster = roster.map { roster in
            var fresh = PresenceRoster()
            fresh.myID = roster.myID
            return fresh
        }
    }

    /// What happens with the unsubscribe message.
    package enum UnsubscribeStep: Hashable, Sendable {
        case forget
        case send
        /// No message until the server has answered.
        case sendAfterAnswer
    }

    /// The app unsubscribes.
    package mutating func unsubscribe() -> UnsubscribeStep {
        switch phase {
        case .idle, .authorizing, .awaitingSignIn, .queued, .failed, .invalid:
            return earlierRequest == .unanswered ? .send : .forget
        case .subscribed:
            return .send
        case .subscribing(let deadline, let request), .unsubscribing(let deadline, let request):
            phase = .unsubscribing(deadline: deadline, request)
            decryption?.retire()
            return .sendAfterAnswer
        }
    }

    /// The consequence of the server's answer.
    package struct Confirmation: Hashable, Sendable {
        /// How long the channel was not subscribed; nil if it had not been subscribed before.
        package var away: Duration?
        /// The authorization that is under way, and no longer needed.
        package var needlessAuthorization: AuthorizationID?
    }

    /// Handles the server's confirmation. Returns `nil` if it is known already, or answers nothing. A confirmation also
    /// counts after the timeout, or after a refusal that belonged to another channel, even while the client is about to
    /// subscribe again. Some servers do not answer a second request.
    package mutating func succeeded(now: Instant) -> Confirmation? {
        var confirmation = Confirmation(away: lostAt.map { now - $0 })
        switch phase {
        case .subscribing: break
        case .failed, .authorizing, .awaitingSignIn, .queued:
            guard earlierRequest != nil else { return nil }
            if case .authorizing(let id) = phase { confirmation.needlessAuthorization = id }
        case .idle, .unsubscribing, .subscribed, .invalid: return nil
        }
        phase = .subscribed
        earlierRequest = nil
        lostAt = nil
        return confirmation
    }

    /// Handles that the server's rate limit is reached. The server may have accepted this subscription if it was sent.
    /// A channel that the app has unsubscribed does not wait.
    mutating func queue(_ request: Request = Request()) {
        if case .unsubscribing = phase { return }
        if isPending { earlierRequest = .unanswered }
        phase = .queued(request)
    }

    package mutating func failed(_ error: SubscriptionError) {
        if case .invalid = phase { return }
        if isPending, earlierRequest != .unanswered {
            switch error.kind {
            case .subscriptionTimedOut: earlierRequest = .unanswered
            case .subscriptionRefused: earlierRequest = .refused
            default: break
            }
        }
        phase = .failed(error)
    }

    /// Handles that the client subscribes again, because the server refused a channel that it had confirmed.
    mutating func doubted(now: Instant) {
        lost(now: now)
        hasResubscribedAfterRefusal = true
    }

    /// Handles that the subscription is lost with the connection, or that the client is about to subscribe again.
    package mutating func lost(now: Instant) {
        switch phase {
        case .subscribed:
            lostAt = now
            phase = .idle
        case .idle, .authorizing, .awaitingSignIn, .queued, .subscribing, .failed:
            phase = .idle
        case .unsubscribing, .invalid:
            break
        }
        earlierRequest = nil
        hasResubscribedAfterRefusal = false
        roster?.connectionLost()
        decryption?.awaitNextKey()
    }
}
