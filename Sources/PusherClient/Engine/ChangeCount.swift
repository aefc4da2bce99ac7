import Atomics

/// A count of all changes that may affect the listeners of an event. Such changes are a new or lost connection, a
/// removed recipient of a channel, and the first use of a callback queue. Added and removed listeners of a registry
/// count only if code may still use an earlier lookup in the registry.
///
/// Code that makes a change raises the count after the change and before returning. While the count does not change, an
/// earlier lookup is still valid.
final class ChangeCount: Sendable {
    private let count = ManagedAtomic(0)

    var value: Int { count.load(ordering: .acquiring) }

    func raise() { count.wrappingIncrement(ordering: .releasing) }
}
