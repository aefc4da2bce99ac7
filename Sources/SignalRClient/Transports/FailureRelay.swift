import NIOConcurrencyHelpers
import SignalRCore

/// Reports failures of a sender to its transport. The relay is necessary because the sender exists before the
/// transport.
final class FailureRelay: Sendable {
    private let target = NIOLockedValueBox<(@Sendable (HubFailure) -> Void)?>(nil)

    func set(_ target: @escaping @Sendable (HubFailure) -> Void) { self.target.withLockedValue { $0 = target } }

    func report(_ failure: HubFailure) { target.withLockedValue { $0 }?(failure) }
}
