/// Decides how long to wait before the next attempt to connect or to authorize.
///
/// A client calls it on its event loop, so it must not block. The client does not call it if the protocol prescribes
/// the wait.
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
    /// If the wait is shorter than ``RetryContext/minimumDelay``, the client waits that long.
    func delay(for context: RetryContext) -> Duration?
}

/// The facts that a ``RetryPolicy`` can base its decision on.
public struct RetryContext: Sendable {
    /// How many attempts followed the last lasting success: 0 at the first call.
    public var retryCount: Int
    /// The time since the connection was lost, or since the authorization was first requested.
    public var elapsed: Duration
    /// Why the connection was lost, or why the last attempt failed.
    public var reason: any Error
    /// The WebSocket close code, if there was one.
    public var closeCode: Int?
    /// The shortest wait that the protocol or the server's `Retry-After` allows. Default: zero.
    public var minimumDelay: Duration
    /// A fresh number in `0..<1`, for jitter. If the policy uses it instead of drawing its own, tests are repeatable.
    public var random: Double

    /// Makes a context, for tests of a policy.
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

/// A policy that comes with the package: ``RetryPolicy/exponential(base:factor:cap:)``,
/// ``RetryPolicy/delays(_:repeatsLast:)`` or ``RetryPolicy/atMost(_:_:)``.
public struct StandardRetryPolicy: RetryPolicy {
    private let policy: any RetryPolicy

    fileprivate init(_ policy: any RetryPolicy) { self.policy = policy }

    /// Returns the time to wait, or `nil` to stop trying.
    public func delay(for context: RetryContext) -> Duration? { policy.delay(for: context) }

    /// Whether it is ``RetryPolicy/exponential(base:factor:cap:)`` with its defaults.
    package var isDefault: Bool { (policy as? ExponentialBackOff) == ExponentialBackOff() }
}

extension RetryPolicy where Self == StandardRetryPolicy {
    /// Waits that grow by a factor up to a cap, without end. It is the default.
    ///
    /// Each is drawn evenly between zero and that bound ("full jitter"), so that the clients of a server that comes back do not
    /// all arrive at once. A factor below 1 counts as 1, and negative times as zero.
    ///
    /// - Parameters:
    ///   - base: The bound of the first wait. Default: 1 s.
    ///   - factor: The factor by which the bound grows each time. Default: 2.
    ///   - cap: The bound that is never passed. Default: 30 s.
    public static func exponential(
        base: Duration = .seconds(1),
        factor: Double = 2,
        cap: Duration = .seconds(30)
    ) -> StandardRetryPolicy {
        StandardRetryPolicy(ExponentialBackOff(base: base, factor: factor, cap: cap))
    }

    /// The waits of a list, one after the other. An empty list stops at once.
    ///
    /// - Parameters:
    ///   - delays: The waits.
    ///   - repeatsLast: Whether the last wait is repeated without end. If `false`, the attempts stop after it. Default: `true`.
    public static func delays(_ delays: [Duration], repeatsLast: Bool = true) -> StandardRetryPolicy {
        StandardRetryPolicy(FixedDelays(delays: delays, repeatsLast: repeatsLast))
    }

    /// Tries again at most so many times, and stops then.
    ///
    /// ```swift
    /// options.retryPolicy = .atMost(5)
    /// options.retryPolicy = .atMost(5, .delays([.seconds(1), .seconds(10)]))
    /// ```
    ///
    /// - Parameters:
    ///   - attempts: The number of attempts after the one that failed. A client counts anew when a connection has held.
    ///   - policy: The waits between them. Default: ``exponential(base:factor:cap:)``.
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
        // Compared as numbers, because multiplying a duration by a large number traps.
        return growth < cap / base ? base * growth : cap
    }

    /// By squaring. The result is infinite if it is too large for a number.
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
