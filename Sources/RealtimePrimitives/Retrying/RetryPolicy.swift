/// A policy that decides how long to wait before another attempt, for example to connect or to authorize.
///
/// A client calls the policy on its event loop, so the policy must not block. If the protocol prescribes the wait, the
/// client does not call the policy.
///
/// ```swift
/// struct EveryFiveSeconds: RetryPolicy {
///     func delay(for context: RetryContext) -> Duration? {
///         context.elapsed < .seconds(600) ? .seconds(5) : nil
///     }
/// }
/// ```
public protocol RetryPolicy: Sendable {
    /// Returns the time to wait, or `nil` to stop trying.
    ///
    /// If the policy returns less than ``RetryContext/minimumDelay``, the client waits for that minimum.
    func delay(for context: RetryContext) -> Duration?
}

/// The information for a decision of a ``RetryPolicy``.
public struct RetryContext: Sendable {
    /// The number of retries so far: 0 at the first call. After a connection that was open long enough, the client
    /// counts from zero.
    public var retryCount: Int
    /// The time since the connection was lost, or since the first attempt if there was no connection before. For an
    /// authorization or another request, the time since it began.
    public var elapsed: Duration
    /// The reason why the connection was lost, or why the last attempt failed. Each client has its own type of errors: a
    /// `Pusher` passes a `PusherClientError`, and a `ReconnectingWebSocket` passes a `WebSocketError`.
    public var reason: any Error
    /// The WebSocket close code, if there was one.
    public var closeCode: Int?
    /// The shortest wait that the protocol or the server's `Retry-After` allows. Default: zero.
    public var minimumDelay: Duration
    /// A random number in `0..<1`. Each call gets a new number, but authorizations that fail together share one number.
    /// If a policy takes its jitter from this number, tests of the policy are repeatable.
    public var random: Double

    /// Creates a context, for tests of a policy.
    public init(
        retryCount: Int,
        elapsed: Duration,
        reason: any Error,
        closeCode: Int? = nil,
        minimumDelay: Duration = .zero,
        random: Double = 0
    ) {
        self.retryCount = retryCount
        self.elapsed = elapsed
        self.reason = reason
        self.closeCode = closeCode
        self.minimumDelay = minimumDelay
        self.random = random
    }
}

/// A policy of the package: ``RetryPolicy/exponential(base:factor:cap:)``, ``RetryPolicy/delays(_:repeatsLast:)`` or
/// ``RetryPolicy/atMost(_:_:)``.
public struct StandardRetryPolicy: RetryPolicy {
    private let policy: any RetryPolicy

    fileprivate init(_ policy: any RetryPolicy) { self.policy = policy }

    /// Returns the time to wait, or `nil` to stop trying.
    public func delay(for context: RetryContext) -> Duration? { policy.delay(for: context) }

    /// Whether the policy is ``RetryPolicy/exponential(base:factor:cap:)`` with its defaults.
    package var isDefault: Bool { (policy as? ExponentialBackOff) == ExponentialBackOff() }
}

extension RetryPolicy where Self == StandardRetryPolicy {
    /// Returns the default policy: random waits, without a limit of attempts.
    ///
    /// Each wait is random between zero and a maximum that grows ("full jitter"). Because of this, the clients of a
    /// restarted server do not all connect at once. A factor below 1 counts as 1, and negative times count as zero.
    ///
    /// - Parameters:
    ///   - base: The maximum of the first wait. Default: 1 s.
    ///   - factor: The factor by which the maximum grows after each attempt. Default: 2.
    ///   - cap: The maximum of all waits. Default: 30 s.
    public static func exponential(
        base: Duration = .seconds(1),
        factor: Double = 2,
        cap: Duration = .seconds(30)
    ) -> StandardRetryPolicy {
        StandardRetryPolicy(ExponentialBackOff(base: base, factor: factor, cap: cap))
    }

    /// Returns a policy that uses the waits of a list in order. If the list is empty, the client does not retry.
    ///
    /// - Parameters:
    ///   - delays: The waits.
    ///   - repeatsLast: Whether the policy repeats the last wait without limit. If `false`, the policy stops after the
    ///     last wait. Default: `true`.
    public static func delays(_ delays: [Duration], repeatsLast: Bool = true) -> StandardRetryPolicy {
        StandardRetryPolicy(FixedDelays(delays: delays, repeatsLast: repeatsLast))
    }

    /// Returns a policy that limits the number of attempts of another policy.
    ///
    /// ```swift
    /// options.retryPolicy = .atMost(5)
    /// options.retryPolicy = .atMost(5, .delays([.seconds(1), .seconds(10)]))
    /// ```
    ///
    /// - Parameters:
    ///   - attempts: The maximum number of attempts after the first failure. After a connection that was open long
    ///     enough, the client counts from zero.
    ///   - policy: The policy of the waits between attempts. Default: ``exponential(base:factor:cap:)``.
    public static func atMost(_ attempts: Int, _ policy: any RetryPolicy = .exponential()) -> StandardRetryPolicy {
        StandardRetryPolicy(LimitedAttempts(attempts: attempts, policy: policy))
    }
}

package struct ExponentialBackOff: RetryPolicy, Hashable {
    package var base: Duration
    package var factor: Double
    package var cap: Duration

    package init(
        base: Duration = .seconds(1),
        factor: Double = 2,
        cap: Duration = .seconds(30)
    ) {
        self.base = max(base, .zero)
        self.factor = factor >= 1 ? factor : 1
        self.cap = max(cap, .zero)
    }

    package func delay(for context: RetryContext) -> Duration? {
        bound(retryCount: context.retryCount) * (context.random > 0 ? min(context.random, 1) : 0)
    }

    /// The longest wait before the attempt.
    package func bound(retryCount: Int) -> Duration {
        guard base > .zero, cap > .zero else { return .zero }
        let growth = Self.power(factor > 1 ? factor : 1, max(retryCount, 0))
        // Multiplying a duration by a large number can trap, so the code compares floating-point numbers.
        return growth < cap / base ? base * growth : cap
    }

    /// Computes a power by squaring. The result is infinite if it does not fit into a `Double`.
    private static func power(_ base: Double, _ exponent: Int) -> Double {
        var (result, square, exponent) = (1.0, base, exponent)
        while exponent > 0 {
            if exponent & 1 == 1 { result *= square }
            square *= square
            exponent >>= 1
        }
        return result
    }
}

private struct FixedDelays: RetryPolicy {
    let delays: [Duration]
    let repeatsLast: Bool

    func delay(for context: RetryContext) -> Duration? {
        if delays.indices.contains(context.retryCount) { return delays[context.retryCount] }
        return repeatsLast ? delays.last : nil
    }
}

private struct LimitedAttempts: RetryPolicy {
    let attempts: Int
    let policy: any RetryPolicy

    func delay(for context: RetryContext) -> Duration? {
        context.retryCount < attempts ? policy.delay(for: context) : nil
    }
}
