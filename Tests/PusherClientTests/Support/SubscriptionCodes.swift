import PusherClient

/// Short names of the subscription codes, for tests of subscriptions.
extension PusherClientError.Code {
    static let refused = subscriptionRefused
    static let timedOut = subscriptionTimedOut
}
