/// The listeners for the events of one name: those of the whole client, or of the user, and those of one channel.
///
/// It is looked up once, and used until a listener is added or removed: see ``isCurrent``.
final class Audience: Sendable {
    let eventName: String
    private let first: ListenerRegistry
    private let second: ListenerRegistry?
    private let firstListeners: ListenerRegistry.EventListeners
    private let secondListeners: ListenerRegistry.EventListeners
    private let changes: ChangeCount
    private let count: Int

    /// - Parameter count: The count of changes before the registries were looked up; nil for the one now.
    init(
        _ eventName: String,
        _ first: ListenerRegistry,
        _ second: ListenerRegistry?,
        _ changes: ChangeCount,
        count: Int? = nil
    ) {
        self.eventName = eventName
        self.first = first
        self.second = second
        self.changes = changes
        // Read first: a change during the look-up must not go unnoticed.
        self.count = count ?? changes.value
        firstListeners = first.listeners(for: eventName)
        secondListeners = second?.listeners(for: eventName) ?? ListenerRegistry.EventListeners()
    }

    /// Whether nothing has changed since the look-up.
    var isCurrent: Bool { count == changes.value }

    /// The listeners as they are now.
    func renewed() -> Audience { isCurrent ? self : renamed(eventName) }

    /// The same for another event.
    func renamed(_ eventName: String) -> Audience { Audience(eventName, first, second, changes) }

    var isEmpty: Bool { firstListeners.isEmpty && secondListeners.isEmpty }

    /// Adds an event to the sequences. `wake` receives those that have to be woken.
    func add(_ event: PusherEvent, waking wake: (EventBuffer<PusherEvent>) -> Void) -> SequenceOverflow {
        var overflow = firstListeners.add(event, waking: wake)
        overflow.add(secondListeners.add(event, waking: wake))
        return overflow
    }

    /// Whether there are callbacks that run there.
    func hasBinding(by dispatcher: CallbackDispatcher) -> Bool {
        firstListeners.hasBinding(by: dispatcher) || secondListeners.hasBinding(by: dispatcher)
    }

    /// Calls the callbacks that run there.
    func call(_ event: PusherEvent, by dispatcher: CallbackDispatcher) {
        let hasCalled = firstListeners.call(event, by: dispatcher)
        // A callback of the client may have bound another one to the channel.
        if hasCalled, !isCurrent, let second {
            second.listeners(for: eventName).call(event, by: dispatcher)
        } else {
            secondListeners.call(event, by: dispatcher)
        }
    }
}
