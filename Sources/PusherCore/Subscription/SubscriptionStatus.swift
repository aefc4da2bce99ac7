/// The state of a channel's subscription: ``PusherChannel/subscriptionStatus``.
public enum SubscriptionStatus: Hashable, Sendable {
    /// There is no connection. The client subscribes as soon as it is connected.
    case waitingForConnection
    /// The authorization or the subscription is under way.
    case subscribing
    /// The server has confirmed the subscription.
    case subscribed
    /// The last try failed for a reason that may pass. The client tries again until the channel is subscribed: see
    /// ``PusherClientOptions/requestRetryPolicy``. The status stays until the outcome of the next try.
    ///
    /// There are two other reasons for this status. A presence channel may wait for a sign-in that failed. An encrypted
    /// channel may be subscribed (``PusherChannel/isSubscribed``), but its events wait for a key that the client could
    /// not get.
    case retrying(SubscriptionError)
    /// The subscription failed for a reason that does not pass by itself: the backend or the server refused it, or the
    /// name is invalid. The client tries again on its next connection, unless the name is invalid, or when you call
    /// ``PusherChannel/resubscribe()``.
    case failed(SubscriptionError)
    /// The app has unsubscribed, or the client was released.
    case unsubscribed
}

extension ClientStateMachine {
    package func subscriptionStatus(of name: String, _ id: ChannelID) -> SubscriptionStatus {
        guard let subscription = subscriptions[name], subscription.id == id, subscription.isWanted else {
            return .unsubscribed
        }
        func failure(_ subject: Retries.Subject) -> PusherClientError? { session?.retries[subject]?.error }
        switch subscription.phase {
        case .subscribed:
            return failure(.key(channel: name))?.subscriptionError.map { .retrying($0) } ?? .subscribed
        case .failed(let error), .invalid(let error): return .failed(error)
        case .idle where session == nil: return .waitingForConnection
        case .awaitingSignIn:
            return failure(.signIn).map { .retrying(.waitingForSignIn(name, $0)) } ?? .subscribing
        case .idle, .authorizing, .queued, .subscribing, .subscribingUnwanted, .retrying:
            return failure(.channel(name))?.subscriptionError.map { .retrying($0) } ?? .subscribing
        }
    }
}
