import PusherClient

/// The codes of subscriptions, where a test speaks of nothing else.
extension PusherClientError.Code {
    static let refused = subscriptionRefused
    static let timedOut = subscriptionTimedOut
}
