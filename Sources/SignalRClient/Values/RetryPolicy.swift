import RealtimePrimitives
import SignalRCore

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

/// A policy of the package: ``RetryPolicy/exponential(base:factor:cap:)``, ``RetryPolicy/delays(_:repeatsLast:)``,
/// ``RetryPolicy/forever`` or ``RetryPolicy/atMost(_:_:)``.
public struct StandardHubRetryPolicy: RetryPolicy {
    private let decide: @Sendable (RetryContext) -> TimeInterval?

    fileprivate init(_ decide: @escaping @Sendable (RetryContext) -> TimeInterval?) { self.decide = decide }

    fileprivate init(_ policy: StandardRetryPolicy) {
        self.init { context in
            let general = RealtimePrimitives.RetryContext(
                retryCount: context.retryCount,
                elapsed: Duration(clampingSeconds: context.elapsed),
                reason: context.retryReason
                    ?? SignalRClientError(.serverClosed, "Connection lost: the server closed it."),
                random: .random(in: 0..<1)
            )
            return policy.delay(for: general).map { $0 / .seconds(1) }
        }
    }

    /// Returns the wait before the next attempt, in seconds, or `nil` to stop trying.
    public func nextRetryInterval(retryContext: RetryContext) -> TimeInterval? { decide(retryContext) }
}

extension RetryPolicy where Self == StandardHubRetryPolicy {
    /// Returns a policy with random waits between zero and a maximum that grows ("full jitter"). Random waits prevent
    /// the clients of a restarted server from all connecting at the same time.
    ///
    /// - Parameters:
    ///   - base: The maximum of the first wait. Default: 1 s.
    ///   - factor: The factor by which the maximum grows after each attempt. Default: 2.
    ///   - cap: The maximum of all waits. Default: 30 s.
    public static func exponential(
        base: Duration = .seconds(1),
        factor: Double = 2,
        cap: Duration = .seconds(30)
    ) -> StandardHubRetryPolicy {
        StandardHubRetryPolicy(StandardRetryPolicy.exponential(base: base, factor: factor, cap: cap))
    }

    /// Returns a policy that uses the waits of a list in order. If the list is empty, the client does not retry.
    ///
    /// - Parameters:
    ///   - delays: The waits.
    ///   - repeatsLast: Whether the policy repeats the last wait without limit. If `false`, the policy stops after the
    ///     last wait. Default: `true`.
    public static func delays(_ delays: [Duration], repeatsLast: Bool = true) -> StandardHubRetryPolicy {
        StandardHubRetryPolicy(StandardRetryPolicy.delays(delays, repeatsLast: repeatsLast))
    }

    /// The default waits of 0, 2, 10 and 30 seconds, and then 30 seconds without limit.
    public static var forever: StandardHubRetryPolicy {
        .delays([.zero, .seconds(2), .seconds(10), .seconds(30)])
    }

    /// Returns a policy that limits the number of attempts of another policy.
    ///
    /// - Parameters:
    ///   - attempts: The maximum number of attempts after the first failure.
    ///   - policy: The policy of the waits between attempts. Default: ``exponential(base:factor:cap:)``.
    public static func atMost(_ attempts: Int, _ policy: any RetryPolicy = .exponential()) -> StandardHubRetryPolicy {
        StandardHubRetryPolicy { context in
            context.retryCount < attempts ? policy.nextRetryInterval(retryContext: context) : nil
        }
    }
}
