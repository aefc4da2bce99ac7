import NIOConcurrencyHelpers
import SignalRCore

/// Reports failures of a sender to its transport. The relay is necessary because the sender exists before the
/// transport.
final class FailureRelay: Sendable {
    // A bare function in a generic box would get another wrapper at each read.
    private struct Target: Sendable {
        let report: @Sendable (HubFailure) -> Void
    }

    private let target = NIOLockedValueBox<Target?>(nil)

    func set(_ target: @escaping @Sendable (HubFailure) -> Void) {
        self.target.withLockedValue { $0 = Target(report: target) }
    }

    func report(_ failure: HubFailure) { target.withLockedValue { $0 }?.report(failure) }
}
