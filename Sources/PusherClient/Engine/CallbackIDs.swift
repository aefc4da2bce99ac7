import Atomics
import Foundation

/// The ids of a client's callbacks. Those of other clients are different ones, so that an id never unbinds a wrong callback.
final class CallbackIDs: Sendable {
    // One UUID for all: each takes a random number from the system.
    private let prefix = UUID().uuidString
    private let count = ManagedAtomic(0)

    func next() -> String { "\(prefix)-\(count.wrappingIncrementThenLoad(ordering: .relaxed))" }
}
