import NIOConcurrencyHelpers
import PusherClient

/// Waits with exponential back-off. Records the first wait as a fraction of its limit, which depends on the number of
/// earlier attempts.
final class RecordingPolicy: RetryPolicy {
    private let base: Duration
    private let cap: Duration
    private let kept = NIOLockedValueBox<Double?>(nil)

    init(base: Duration, cap: Duration) {
        self.base = base
        self.cap = cap
    }

    /// The first wait as a fraction of its limit, from 0 to 1.
    var first: Double? { kept.withLockedValue { $0 } }

    func forget() { kept.withLockedValue { $0 = nil } }

    func delay(for context: RetryContext) -> Duration? {
        let policy = ExponentialBackOff(base: base, cap: cap)
        guard let delay = policy.delay(for: context) else { return nil }
        let bound = (0..<min(context.retryCount, 60)).reduce(base) { bound, _ in min(bound * 2, cap) }
        kept.withLockedValue { if $0 == nil { $0 = delay / bound } }
        return delay
    }
}
