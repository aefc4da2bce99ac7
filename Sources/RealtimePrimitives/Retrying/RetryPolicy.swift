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

/// Waits that grow by a factor up to a limit. Each is drawn evenly between zero and its limit ("full jitter"), so that
/// the clients of a restarted server do not all connect at once. The default policy.
public struct ExponentialRetryPolicy: RetryPolicy, Hashable {
    /// The limit of the first wait. Default: 1 s.
    public var base: Duration
    /// The factor by which the limit grows each time. Default: 2.
    public var factor: Double
    /// The limit of all waits. Default: 30 s.
    public var cap: Duration

    /// Creates the policy. A factor below 1 counts as 1, and negative times as zero.
    public init(
        base: Duration = .seconds(1),
        factor: Double = 2,
        cap: Duration = .seconds(30)
    ) {
        self.base = max(base, .zero)
        self.factor = factor >= 1 ? factor : 1
        self.cap = max(cap, .zero)
    }

    /// The wait before the attempt.
    public func delay(for context: RetryContext) -> Duration? {
        return bound(retryCount: context.retryCount) * (context.random > 0 ? min(context.random, 1) : 0)
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

/// The waits of a list, one after the other.
public struct FixedRetryPolicy: RetryPolicy, Hashable {
    /// The waits.
    public var delays: [Duration]
    /// Whether the last wait is repeated without limit. If `false`, the attempts stop after it. Default: `true`.
    public var repeatsLast: Bool

    /// Creates the policy. An empty list stops at once.
    public init(_ delays: [Duration], repeatsLast: Bool = true) {
        self.delays = delays
        self.repeatsLast = repeatsLast
    }

    /// The wait before the attempt.
    public func delay(for context: RetryContext) -> Duration? {
        if delays.indices.contains(context.retryCount) { return delays[context.retryCount] }
        return repeatsLast ? delays.last : nil
    }
}

extension RetryPolicy where Self == ExponentialRetryPolicy {
    /// Exponential back-off with its defaults: 1 s, doubled up to 30 s, full jitter, without a limit of attempts.
    public static var exponential: ExponentialRetryPolicy { ExponentialRetryPolicy() }

    /// Exponential back-off with full jitter, without a limit of attempts.
    public static func exponential(
        base: Duration = .seconds(1),
        factor: Double = 2,
        cap: Duration = .seconds(30)
    ) -> ExponentialRetryPolicy {
        ExponentialRetryPolicy(base: base, factor: factor, cap: cap)
    }
}

/// A policy that stops after some attempts: see ``RetryPolicy/atMost(_:_:)``.
public struct LimitedRetryPolicy: RetryPolicy {
    let attempts: Int
    let policy: any RetryPolicy

    /// The wait before the attempt; `nil` after the last one.
    public func delay(for context: RetryContext) -> Duration? {
        context.retryCount < attempts ? policy.delay(for: context) : nil
    }
}

extension RetryPolicy where Self == LimitedRetryPolicy {
    /// Limits the number of attempts.
    ///
    /// ```swift
    /// options.retryPolicy = .atMost(5)
    /// options.retryPolicy = .atMost(5, .delays([.seconds(1), .seconds(10)]))
    /// ```
    ///
    /// - Parameters:
    ///   - attempts: The number of attempts after the one that failed. A client starts counting again after a lasting
    ///     connection.
    ///   - policy: The waits between them. Default: ``exponential``.
    public static func atMost(_ attempts: Int, _ policy: any RetryPolicy = .exponential) -> LimitedRetryPolicy {
        LimitedRetryPolicy(attempts: attempts, policy: policy)
    }
}

extension RetryPolicy where Self == FixedRetryPolicy {
    /// The waits of a list. The last one is repeated, unless `repeatsLast` is `false`.
    public static func delays(_ delays: [Duration], repeatsLast: Bool = true) -> FixedRetryPolicy {
        FixedRetryPolicy(delays, repeatsLast: repeatsLast)
    }
}
