import PusherClient

/// The codes of subscriptions, for tests of subscriptions only.
extension PusherClientError.Code {
    static let refused = subscriptionRefused
    static let timedOut = subscriptionTimedOut
}
