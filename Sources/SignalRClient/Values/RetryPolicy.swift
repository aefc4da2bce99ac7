/// A policy that decides how long to wait before the next attempt to connect.
///
/// The client calls the policy on its event loop, so the policy must not block. `PusherClient`, `WebSocketClient` and
/// `ServerSentEvents` have another protocol of this name. In a file that also imports one of these libraries, use the
/// name ``HubRetryPolicy``, and name the other protocol with its library, for example `PusherClient.RetryPolicy`.
public protocol RetryPolicy: Sendable {
    /// Returns the time to wait, in seconds, or `nil` to stop trying.
    func nextRetryInterval(retryContext: RetryContext) -> TimeInterval?
}

/// The information for a decision of a ``RetryPolicy``.
public struct RetryContext: Sendable {
    /// The number of retries that have failed since the connection was lost, or since the call of
    /// ``HubConnection/start(retrying:)``. The first call of the policy gets 0.
    public let retryCount: Int
    /// The time since the connection was lost, or since the call of ``HubConnection/start(retrying:)``, in seconds.
    public let elapsed: TimeInterval
    /// The reason why the connection was lost, or why the last attempt failed. `nil` if the server closed the
    /// connection without an error.
    public let retryReason: (any Error)?

    /// Creates a context, for tests of a policy.
    public init(retryCount: Int, elapsed: TimeInterval, retryReason: (any Error)?) {
        self.retryCount = retryCount
        self.elapsed = elapsed
        self.retryReason = retryReason
    }
}

/// Another name of ``RetryPolicy``, which is not ambiguous in a file that also imports `PusherClient`,
/// `WebSocketClient` or `ServerSentEvents`.
public typealias HubRetryPolicy = RetryPolicy

/// Another name of ``RetryContext``, for the same files as ``HubRetryPolicy``.
public typealias HubRetryContext = RetryContext

/// A policy with a list of waits, one after the other.
public struct FixedDelayRetryPolicy: RetryPolicy, Hashable {
    /// The waits, in seconds.
    public var delays: [TimeInterval]
    /// Whether the policy repeats the last wait without limit. If `false`, the policy stops after the last wait.
    public var repeatsLast: Bool

    /// Creates the policy. If the list is empty, the client does not retry.
    public init(_ delays: [TimeInterval], repeatsLast: Bool = false) {
        self.delays = delays
        self.repeatsLast = repeatsLast
    }

    /// Returns the wait before the next attempt, in seconds, or `nil` to stop trying.
    public func nextRetryInterval(retryContext: RetryContext) -> TimeInterval? {
        if delays.indices.contains(retryContext.retryCount) { return delays[retryContext.retryCount] }
        return repeatsLast ? delays.last : nil
    }
}

/// A policy with random waits between zero and a limit, which grows by a factor after each attempt. Random waits
/// prevent the clients of a restarted server from all connecting at the same time.
public struct ExponentialDelayRetryPolicy: RetryPolicy, Hashable {
    /// The limit of the first wait, in seconds. Default: 1.
    public var base: TimeInterval
    /// The factor by which the limit grows after each attempt. Default: 2.
    public var factor: Double
    /// The limit of all waits, in seconds. Default: 30.
    public var cap: TimeInterval
    /// The number of attempts before the policy stops; `nil` for no limit. Default: `nil`.
    public var maximumRetries: Int?

    /// The client waits no longer than this time. The standard library traps if the upper bound of a random number is
    /// infinite.
    private static let longestWait: TimeInterval = 1e9

    /// Creates the policy.
    public init(base: TimeInterval = 1, factor: Double = 2, cap: TimeInterval = 30, maximumRetries: Int? = nil) {
        self.base = base
        self.factor = factor
        self.cap = cap
        self.maximumRetries = maximumRetries
    }

    /// Returns the wait before the next attempt, in seconds, or `nil` to stop trying.
    public func nextRetryInterval(retryContext: RetryContext) -> TimeInterval? {
        if let maximumRetries, retryContext.retryCount >= maximumRetries { return nil }
        let bound = min(base * pow(factor, Double(retryContext.retryCount)), cap, Self.longestWait)
        return bound > 0 ? .random(in: 0...bound) : 0
    }
}

extension RetryPolicy where Self == FixedDelayRetryPolicy {
    /// Returns a policy with a list of waits, in seconds. After the list, the policy stops or repeats the last wait.
    public static func delays(_ delays: [TimeInterval], repeatLast: Bool = false) -> FixedDelayRetryPolicy {
        FixedDelayRetryPolicy(delays, repeatsLast: repeatLast)
    }

    /// The default waits of 0, 2, 10 and 30 seconds, and then 30 seconds without limit.
    public static var forever: FixedDelayRetryPolicy { FixedDelayRetryPolicy([0, 2, 10, 30], repeatsLast: true) }
}

extension RetryPolicy where Self == ExponentialDelayRetryPolicy {
    /// Returns a policy with exponential back-off and full jitter. Times are in seconds.
    public static func exponential(
        base: TimeInterval = 1,
        factor: Double = 2,
        cap: TimeInterval = 30,
        maximumRetries: Int? = nil
    ) -> ExponentialDelayRetryPolicy {
        ExponentialDelayRetryPolicy(base: base, factor: factor, cap: cap, maximumRetries: maximumRetries)
    }
}
