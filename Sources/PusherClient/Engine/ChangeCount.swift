import Atomics

/// Counts everything that may change where an event goes: a channel that has lost its recipient, another connection, and
/// listeners that are added to a registry or removed from it, after somebody has looked into it.
///
/// Code that makes a change raises the count after the change and before returning. What was looked up when the count
/// was the same still holds.
final class ChangeCount: Sendable {
    private let count = ManagedAtomic(0)

    var value: Int { count.load(ordering: .acquiring) }

    func raise() { count.wrappingIncrement(ordering: .releasing) }
}
