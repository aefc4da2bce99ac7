/// The values from which a retry policy calculates a wait. The shell adds the random number.
package struct RetryQuestion: Hashable, Sendable {
    package var retryCount: Int
    package var elapsed: Duration
    package var reason: PusherClientError
    package var closeCode: Int?
    package var minimumDelay: Duration

    package init(
        retryCount: Int,
        elapsed: Duration,
        reason: PusherClientError,
        closeCode: Int? = nil,
        minimumDelay: Duration = .zero
    ) {
        self.retryCount = retryCount
        self.elapsed = elapsed
        self.reason = reason
        self.closeCode = closeCode
        self.minimumDelay = minimumDelay
    }
}
