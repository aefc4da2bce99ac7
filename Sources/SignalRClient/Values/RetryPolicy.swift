/// Decides how long to wait before the next attempt to reconnect.
///
/// The client calls it on its event loop, so it must not block.
public protocol RetryPolicy: Sendable {
    /// Returns the time to wait, in seconds, or `nil` to stop trying.
    func nextRetryInterval(retryContext: RetryContext) -> TimeInterval?
}

/// The facts that a ``RetryPolicy`` can base its decision on.
public struct RetryContext: Sendable {
    /// How many attempts have failed since the connection was lost: 0 at the first call.
    public let retryCount: Int
    /// The time since the connection was lost, in seconds.
    public let elapsed: TimeInterval
    /// Why the connection was lost, or why the last attempt failed; `nil` if the server closed it without an error.
    public let retryReason: (any Error)?

    /// Creates a context, for tests of a policy.
    public init(retryCount: Int, elapsed: TimeInterval, retryReason: (any Error)?) {
        self.retryCount = retryCount
        self.elapsed = elapsed
        self.retryReason = retryReason
    }
}

/// The waits of a list, one after the other.
public struct FixedDelayRetryPolicy: RetryPolicy, Hashable {
    /// The waits, in seconds.
    public var delays: [TimeInterval]
    /// Whether the last wait is repeated without limit. If `false`, the attempts stop after it.
    public var repeatsLast: Bool

    /// Creates the policy. An empty list stops at once.
    public init(_ delays: [TimeInterval], repeatsLast: Bool = false) {
        self.delays = delays
        self.repeatsLast = repeatsLast
    }

    /// Returns the wait before the attempt, in seconds.
    public func nextRetryInterval(retryContext: RetryContext) -> TimeInterval? {
        if delays.indices.contains(retryContext.retryCount) { return delays[retryContext.retryCount] }
        return repeatsLast ? delays.last : nil
    }
}

/// Waits that grow by a factor up to a limit. Each is drawn evenly between zero and its limit, so that the clients of a
/// restarted server do not all connect at once.
public struct ExponentialDelayRetryPolicy: RetryPolicy, Hashable {
    /// The limit of the first wait, in seconds. Default: 1.
    public var base: TimeInterval
    /// The factor by which the limit grows each time. Default: 2.
    public var factor: Double
    /// The limit of all waits, in seconds. Default: 30.
    public var cap: TimeInterval
    /// How many attempts it allows before it stops; `nil` for no limit. Default: `nil`.
    public var maximumRetries: Int?

    /// Creates the policy.
    public init(base: TimeInterval = 1, factor: Double = 2, cap: TimeInterval = 30, maximumRetries: Int? = nil) {
        self.base = base
        self.factor = factor
        self.cap = cap
        self.maximumRetries = maximumRetries
    }

    /// Returns the wait before the attempt, in seconds.
    public func nextRetryInterval(retryContext: RetryContext) -> TimeInterval? {
        if let maximumRetries, retryContext.retryCount >= maximumRetries { return nil }
        let bound = min(base * pow(factor, Double(retryContext.retryCount)), cap)
        return bound > 0 ? .random(in: 0...bound) : 0
    }
}

extension RetryPolicy where Self == FixedDelayRetryPolicy {
    /// The waits of a list, in seconds. After them the client stops, unless the last one is repeated.
    public static func delays(_ delays: [TimeInterval], repeatLast: Bool = false) -> FixedDelayRetryPolicy {
        FixedDelayRetryPolicy(delays, repeatsLast: repeatLast)
    }

    /// The default waits, 0, 2, 10 and 30 seconds, and then 30 seconds without limit.
    public static var forever: FixedDelayRetryPolicy { FixedDelayRetryPolicy([0, 2, 10, 30], repeatsLast: true) }
}

extension RetryPolicy where Self == ExponentialDelayRetryPolicy {
    /// Exponential back-off with full jitter. Times are in seconds.
    public static func exponential(
        base: TimeInterval = 1,
        factor: Double = 2,
        cap: TimeInterval = 30,
        maximumRetries: Int? = nil
    ) -> ExponentialDelayRetryPolicy {
        ExponentialDelayRetryPolicy(base: base, factor: factor, cap: cap, maximumRetries: maximumRetries)
    }
}
