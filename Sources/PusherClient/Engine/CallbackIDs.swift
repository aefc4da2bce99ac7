import Atomics
import Foundation

/// The ids of a client's callbacks. Other clients have different ids, so an id from another client never unbinds a
/// callback of this client.
final class CallbackIDs: Sendable {
    // All ids share one UUID, because each new UUID reads a random number from the system.
    private let prefix = UUID().uuidString
    private let count = ManagedAtomic(0)

    func next() -> String { "\(prefix)-\(count.wrappingIncrementThenLoad(ordering: .relaxed))" }
}
