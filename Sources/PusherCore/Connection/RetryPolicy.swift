/// Decides how long to wait before the next attempt to connect, or to be authorized.
///
/// It is asked on the client's event loop and must not block. It is not asked where the protocol leaves no choice:
/// after a close code in 4200–4299 on a connection that held for a second (reconnect at once), after 4000 (over to
/// TLS), and after codes that refuse the client for good.
///
/// ```swift
/// struct EveryFiveSeconds: RetryPolicy {
///     func delay(for context: RetryContext) -> Duration? {
///         context.elapsed < .seconds(600) ? .seconds(5) : nil
///     }
/// }
/// ```
public protocol RetryPolicy: Sendable {
    /// The time to wait, or nil to give up: the client is then ``ConnectionStatus/disconnected(reason:)``, or the
    /// authorization has failed.
    ///
    /// A wait shorter than ``RetryContext/minimumDelay`` is made that long, and one before an attempt to connect that
    /// is longer than ``PusherConnection/maxReconnectGapInSeconds`` is cut to it.
    func delay(for context: RetryContext) -> Duration?
}

/// What a ``RetryPolicy`` can base its decision on.
public struct RetryContext: Hashable, Sendable {
    /// How many attempts were made since the connection last held, for
    /// ``PusherTimeouts/backOffReset``: 0 before the first. For an authorization: how often
    /// it was asked for again.
    public var retryCount: Int
    /// How long there has been no connection, or the authorization has been wanted.
    public var elapsed: Duration
    /// Why the connection was lost, or could not be made; or why there is no authorization, whose
    /// ``AuthorizationError`` is the cause.
    public var reason: PusherClientError
    /// The WebSocket close code, where there was one.
    public var closeCode: Int?
    /// The least that the protocol asks for, a second after 4100–4199, or that the backend does, by `Retry-After`; else
    /// zero.
    public var minimumDelay: Duration
    /// A fresh number in `0..<1`, for jitter. Using it, rather than drawing one, makes runs repeatable in tests.
    public var random: Double

    /// Makes a context, for tests of a policy.
    public init(
        retryCount: Int,
        elapsed: Duration,
        reason: PusherClientError,
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

/// Waits that grow by a factor up to a cap, each drawn evenly between zero and that bound ("full jitter"), so that the
/// clients of a server that comes back do not all arrive at once. The default policy; it never gives up.
public struct ExponentialRetryPolicy: RetryPolicy, Hashable {
    /// The bound of the first wait. Default: 1 s.
    public var base: Duration
    /// What the bound grows by each time. Default: 2.
    public var factor: Double
    /// The bound that is never passed. Default: 30 s.
    public var cap: Duration

    /// Makes the policy. A factor below 1 counts as 1, and negative times as zero.
    public init(base: Duration = .seconds(1), factor: Double = 2, cap: Duration = .seconds(30)) {
        self.base = max(base, .zero)
        self.factor = factor >= 1 ? factor : 1
        self.cap = max(cap, .zero)
    }

    /// The wait before the attempt.
    public func delay(for context: RetryContext) -> Duration? {
        bound(retryCount: context.retryCount) * (context.random > 0 ? min(context.random, 1) : 0)
    }

    /// The longest wait before the attempt.
    package func bound(retryCount: Int) -> Duration {
        guard base > .zero, cap > .zero else { return .zero }
        let growth = Self.power(factor > 1 ? factor : 1, max(retryCount, 0))
        // Compared as numbers: a duration that is multiplied by too much traps.
        return growth < cap / base ? base * growth : cap
    }

    /// By squaring; infinite if it is too large for a number.
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
    /// True to go on with the last wait for ever, false to give up after it. Default: true.
    public var repeatsLast: Bool

    /// Makes the policy. An empty list gives up at once.
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
    /// Exponential back-off with its defaults: 1 s, doubled up to 30 s, full jitter, without end.
    public static var exponential: ExponentialRetryPolicy { ExponentialRetryPolicy() }

    /// Exponential back-off with full jitter, without end.
    public static func exponential(
        base: Duration = .seconds(1),
        factor: Double = 2,
        cap: Duration = .seconds(30)
    ) -> ExponentialRetryPolicy {
        ExponentialRetryPolicy(base: base, factor: factor, cap: cap)
    }
}

extension RetryPolicy where Self == FixedRetryPolicy {
    /// The waits of a list, the last one repeated unless it is said not to be.
    public static func delays(_ delays: [Duration], repeatsLast: Bool = true) -> FixedRetryPolicy {
        FixedRetryPolicy(delays, repeatsLast: repeatsLast)
    }
}
