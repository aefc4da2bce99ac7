import PusherEncryption
package import PusherProtocol

/// The subscription to one channel that the app wants, or that the server may still have.
package struct SubscriptionStateMachine: Hashable, Sendable {
    package enum Phase: Hashable, Sendable {
        /// There is no connection.
        case idle
        /// The authorization is under way.
        case authorizing(AuthorizationID)
        /// The authorization does not name the user. The client will know the user after the pending sign-in.
        case awaitingSignIn(Authorization)
        /// The client sends the subscription as soon as the server's rate limit allows it.
        case queued(Request)
        /// The client has sent the subscription, and the server has not answered yet.
        case subscribing(deadline: Instant, Request)
        /// The app unsubscribed before the server answered the subscription. The client sends the unsubscribe message
        /// after the answer, because servers do not accept this message before they have subscribed the client.
        case subscribingUnwanted(deadline: Instant, Request)
        case subscribed
        /// The authorization failed for a reason that may pass, the server did not answer in time, or its rate limit
        /// lasted too long. The client tries again after a wait (``Retries``). It then sends the request again, if there
        /// is one.
        case retrying(Request?)
        /// The authorization failed for good, or the server refused the subscription. The client tries again on the
        /// next connection, or when the app subscribes again.
        case failed(SubscriptionError)
        /// The name can never be subscribed. The client sends nothing.
        case invalid(SubscriptionError)
    }

    /// The content of a subscribe message, which the client may have to send again.
    package struct Request: Hashable, Sendable {
        package var authorization: Authorization?
        /// Whether the client has unsubscribed and subscribed again, because the server already had a subscription.
        package var hasStartedOver = false
    }

    /// The state of an earlier request on this connection that the server has not confirmed.
    package enum EarlierRequest: Hashable, Sendable {
        /// The server did not answer in time. The server may have the subscription, or may still create it.
        case unanswered
        /// The server seems to have refused the subscription, but the refusal may concern another channel.
        case refused
    }

    /// An authorization that the app made itself.
    package struct OwnAuthorization: Hashable, Sendable {
        package var authorization: Authorization
        /// The socket id of the newest connection at the time when the app set the authorization. `nil` if there was no
        /// connection yet.
        package var socketID: String?
    }

    package let name: String
    package let kind: ChannelKind
    package private(set) var id: ChannelID
    package private(set) var phase: Phase
    private var earlierRequest: EarlierRequest?
    /// Whether the app subscribed without a lease.
    package var isWantedWithoutLease = false
    /// The number of the app's leases. A lease lasts from a subscription with `isLease` until
    /// ``ClientStateMachine/endLease(of:_:now:into:)``.
    package var leaseCount = 0
    package var subscriptionCount: Int?
    /// The authorization that the app set. Only the next subscription uses this authorization.
    package var ownAuthorization: OwnAuthorization?
    /// Whether the client has used an authorization that the app set. If so, the client may have no other way to
    /// authorize the channel.
    package var hasUsedOwnAuthorization = false
    /// The roster of a presence channel; `nil` for other channels.
    package var roster: PresenceRoster?
    /// The decryption of an encrypted channel; `nil` for other channels.
    package var decryption: DecryptionStateMachine?
    /// Whether the client has subscribed again, because the server refused a channel that it had confirmed. The value
    /// becomes `false` again when the connection is lost, or when the app calls
    /// ``ClientStateMachine/resubscribe(_:_:now:into:)``.
    private(set) var hasResubscribedAfterRefusal = false
    /// The time at which the subscription was lost; nil if it was not lost.
    private var lostAt: Instant?
    package var waiters: [WaiterID] = []

    package init(name: String, id: ChannelID, phase: Phase = .idle, opener: BoxOpener = .library) {
        self.name = name
        self.id = id
        self.phase = phase
        kind = ChannelKind(ofChannelNamed: name)
        roster = kind.base == .presence ? PresenceRoster() : nil
        decryption = kind.base == .privateEncrypted ? DecryptionStateMachine(opener: opener) : nil
    }

    /// Whether the app wants the channel. `false` if the app has unsubscribed, and the server has not answered the
    /// subscription yet.
    package var isWanted: Bool {
        if case .subscribingUnwanted = phase { false } else { true }
    }

    package var isSubscribed: Bool {
        if case .subscribed = phase { true } else { false }
    }

    /// Whether events of the channel are for the app. Events on a channel with an invalid name may be for the signed-in
    /// user.
    package var takesEvents: Bool {
        if case .invalid = phase { false } else { isWanted }
    }

    package var deadline: Instant? {
        switch phase {
        case .subscribing(let deadline, _), .subscribingUnwanted(let deadline, _): deadline
        case .idle, .authorizing, .awaitingSignIn, .queued, .subscribed, .retrying, .failed, .invalid: nil
        }
    }

    package var isAuthorizing: Bool {
        if case .authorizing = phase { true } else { false }
    }

    /// Whether channels of this kind accept client events.
    package var sendsClientEvents: Bool { kind.base == .private || kind.base == .presence }

    /// Whether the client has sent the subscription, and the server has not answered it.
    package var isPending: Bool { deadline != nil }

    /// Whether the subscription waits for the server's rate limit.
    package var isQueued: Bool {
        if case .queued = phase { true } else { false }
    }

    /// Whether the subscription can begin.
    package var canBegin: Bool {
        switch phase {
        case .idle, .failed: true
        case .authorizing, .awaitingSignIn, .queued, .subscribing, .subscribingUnwanted, .subscribed, .retrying,
            .invalid:
            false
        }
    }

    /// The authorization that brings a new key; `nil` if no such authorization is under way.
    package var keyAuthorization: AuthorizationID? {
        if case .refreshing(let id)? = decryption?.phase { id } else { nil }
    }

    /// Whether the client is fetching the key again, or will do so after a wait.
    package var isRefreshingKey: Bool {
        if case .refreshing? = decryption?.phase { true } else { false }
    }

    /// The authorizations that are under way, for the subscription or for its key.
    package var authorizations: [AuthorizationID] {
        var ids: [AuthorizationID] = []
        if case .authorizing(let id) = phase { ids.append(id) }
        if let keyAuthorization { ids.append(keyAuthorization) }
        return ids
    }

    /// Cancels a wait. Returns `false` if the waiter does not wait for this channel.
    package mutating func cancelWaiter(_ waiter: WaiterID) -> Bool {
        guard let index = waiters.firstIndex(of: waiter) else { return false }
        waiters.remove(at: index)
        return true
    }

    /// Notes that the authorization has begun.
    mutating func authorizationBegan(_ id: AuthorizationID) { phase = .authorizing(id) }

    /// Stops waiting for an authorization, for the sign-in or for the next try. In other phases, the method does nothing.
    mutating func stopAuthorizing() {
        switch phase {
        case .authorizing, .awaitingSignIn, .retrying: phase = .idle
        case .idle, .queued, .subscribing, .subscribingUnwanted, .subscribed, .failed, .invalid: break
        }
    }

    /// Keeps an authorization until the user is signed in.
    mutating func awaitSignIn(_ authorization: Authorization) { phase = .awaitingSignIn(authorization) }

    /// Notes that the client has sent the subscription.
    mutating func sent(_ request: Request, deadline: Instant) { phase = .subscribing(deadline: deadline, request) }

    /// Returns the app's own authorization, if it is for this connection, and removes it.
    package mutating func takeOwnAuthorization(socketID: String) -> Authorization? {
        guard let own = ownAuthorization else { return nil }
        ownAuthorization = nil
        hasUsedOwnAuthorization = true
        return own.socketID == nil || own.socketID == socketID ? own.authorization : nil
    }

    /// Handles a call to subscribe after the app has unsubscribed, while the server has not answered the first
    /// subscription. The unanswered subscription continues with a new channel object.
    package mutating func wantAgain(as id: ChannelID) {
        self.id = id
        if case .subscribingUnwanted(let deadline, let request) = phase {
            phase = .subscribing(deadline: deadline, request)
        }
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

    /// The next step of the client after the app has unsubscribed.
    package enum UnsubscribeStep: Hashable, Sendable {
        case forget
        case send
        /// Send the message after the server has answered.
        case sendAfterAnswer
    }

    /// Handles an unsubscribe by the app.
    package mutating func unsubscribe() -> UnsubscribeStep {
        switch phase {
        case .idle, .authorizing, .awaitingSignIn, .queued, .retrying, .failed, .invalid:
            return earlierRequest == .unanswered ? .send : .forget
        case .subscribed:
            return .send
        case .subscribing(let deadline, let request), .subscribingUnwanted(let deadline, let request):
            phase = .subscribingUnwanted(deadline: deadline, request)
            decryption?.retire()
            return .sendAfterAnswer
        }
    }

    /// The result of the server's confirmation.
    package struct Confirmation: Hashable, Sendable {
        /// The time since the subscription was lost; nil if the channel had not been subscribed before.
        package var away: Duration?
        /// The running authorization that is no longer needed.
        package var needlessAuthorization: AuthorizationID?
        /// The waits that end.
        package var waiters: [WaiterID] = []
    }

    /// Handles the server's confirmation. Returns `nil` if the channel is already confirmed, if the client has sent no
    /// request, or if the app has unsubscribed. A confirmation also counts after the timeout, or after a refusal that
    /// concerned another channel. A confirmation counts even if the client is about to subscribe again, because some
    /// servers do not answer a second request.
    package mutating func succeeded(now: Instant) -> Confirmation? {
        var confirmation = Confirmation(away: lostAt.map { now - $0 })
        switch phase {
        case .subscribing: break
        case .retrying, .failed, .authorizing, .awaitingSignIn, .queued:
            guard earlierRequest != nil else { return nil }
            if case .authorizing(let id) = phase { confirmation.needlessAuthorization = id }
        case .idle, .subscribingUnwanted, .subscribed, .invalid: return nil
        }
        phase = .subscribed
        earlierRequest = nil
        lostAt = nil
        swap(&confirmation.waiters, &waiters)
        return confirmation
    }

    /// Queues the request, because the server's rate limit was reached. If the client has sent the request, the server
    /// may have accepted it. After an unsubscribe by the app, the method does not queue the request.
    mutating func queue(_ request: Request = Request()) {
        if case .subscribingUnwanted = phase { return }
        if isPending { earlierRequest = .unanswered }
        phase = .queued(request)
    }

    /// Handles a failure that may pass.
    mutating func postponed() {
        switch phase {
        case .subscribing(_, let request):
            earlierRequest = .unanswered
            phase = .retrying(request)
        case .queued(let request):
            phase = .retrying(request)
        case .idle, .authorizing, .awaitingSignIn, .subscribed, .retrying, .failed:
            phase = .retrying(nil)
        case .subscribingUnwanted, .invalid:
            break
        }
    }

    package mutating func failed(_ error: SubscriptionError) {
        if case .invalid = phase { return }
        if isPending, earlierRequest != .unanswered {
            switch error.code {
            case .subscriptionTimedOut: earlierRequest = .unanswered
            case .subscriptionRefused: earlierRequest = .refused
            default: break
            }
        }
        phase = .failed(error)
    }

    /// Handles the refusal of a channel that the server had confirmed. The client subscribes again.
    mutating func doubted(now: Instant) {
        lost(now: now)
        hasResubscribedAfterRefusal = true
    }

    /// Handles the loss of the subscription. The connection was lost, or the client is about to subscribe again.
    package mutating func lost(now: Instant) {
        switch phase {
        case .subscribed:
            lostAt = now
            phase = .idle
        case .idle, .authorizing, .awaitingSignIn, .queued, .subscribing, .retrying, .failed:
            phase = .idle
        case .subscribingUnwanted, .invalid:
            break
        }
        earlierRequest = nil
        hasResubscribedAfterRefusal = false
        roster?.subscriptionLost()
        decryption?.awaitNextKey()
    }
}
