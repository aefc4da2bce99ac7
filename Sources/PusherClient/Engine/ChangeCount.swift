import Atomics

/// A count of all changes that may affect the listeners of an event. Such changes are the first use of a callback queue,
/// a callback that has got the events that waited for it, and added and removed listeners of a registry. Listeners count only if code may still use an earlier lookup in the
/// registry. A retired channel removes its listeners.
///
/// Code that makes a change raises the count after the change and before returning. While the count does not change, an
/// earlier lookup is still valid.
final class ChangeCount: Sendable {
    private let count = ManagedAtomic(0)

    var value: Int { count.load(ordering: .acquiring) }

    func raise() { count.wrappingIncrement(ordering: .releasing) }
}
