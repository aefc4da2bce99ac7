import NIOConcurrencyHelpers
import PusherClient

/// Another policy, whose first answer is kept.
final class RecordingPolicy: RetryPolicy {
    private let policy: any RetryPolicy
    private let kept = NIOLockedValueBox<Duration?>(nil)

    init(_ policy: any RetryPolicy) { self.policy = policy }

    var first: Duration? { kept.withLockedValue { $0 } }

    func forget() { kept.withLockedValue { $0 = nil } }

    func delay(for context: RetryContext) -> Duration? {
        let delay = policy.delay(for: context)
        kept.withLockedValue { if $0 == nil { $0 = delay } }
        return delay
    }
}
