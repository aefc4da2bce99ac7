import Atomics

/// Counts all changes that may affect where an event goes: a channel that loses its recipient, another connection, and
/// listeners that are added to a registry or removed from it after a look-up.
///
/// Code that makes a change raises the count after the change and before returning. While the count is the same, an
/// earlier look-up is still valid.
final class ChangeCount: Sendable {
    private let count = ManagedAtomic(0)

    var value: Int { count.load(ordering: .acquiring) }

    func raise() { count.wrappingIncrement(ordering: .releasing) }
}
