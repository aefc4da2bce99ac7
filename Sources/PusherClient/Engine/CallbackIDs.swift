import Atomics
import Foundation

/// The ids of a client's callbacks. Other clients have different ids, so that an id never unbinds a wrong callback.
final class CallbackIDs: Sendable {
    // One UUID for all, because each UUID reads a random number from the system.
    private let prefix = UUID().uuidString
    private let count = ManagedAtomic(0)

    func next() -> String { "\(prefix)-\(count.wrappingIncrementThenLoad(ordering: .relaxed))" }
}
