import NIOConcurrencyHelpers
import SignalRCore

/// Leads from a sender to the transport that has it, and that exists only after it.
final class FailureRelay: Sendable {
    private let target = NIOLockedValueBox<(@Sendable (HubFailure) -> Void)?>(nil)

    func set(_ target: @escaping @Sendable (HubFailure) -> Void) { self.target.withLockedValue { $0 = target } }

    func report(_ failure: HubFailure) { target.withLockedValue { $0 }?(failure) }
}
