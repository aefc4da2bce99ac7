/// The listeners for the events of one name: those of the whole client, or of the user, and those of one channel.
///
/// It is looked up once, and used until a listener is added or removed: see ``isCurrent``.
final class Audience: Sendable {
    /// The callbacks that one dispatcher runs.
    struct Callbacks: Sendable {
        let dispatcher: CallbackDispatcher
        fileprivate(set) var first: [Binding] = []
        fileprivate(set) var second: [Binding] = []
    }

    let eventName: String
    let sequences: [EventBuffer<PusherEvent>]
    /// For each dispatcher that has some.
    let callbacks: [Callbacks]
    private let first: ListenerRegistry
    private let second: ListenerRegistry?
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
        var sequences: [EventBuffer<PusherEvent>] = []
        var callbacks: [Callbacks] = []
        for (registry, place) in [(first, \Callbacks.first), (second, \Callbacks.second)] {
            guard let listeners = registry?.listeners(for: eventName) else { continue }
            sequences += listeners.sequences
            for binding in listeners.bindings { callbacks.add(binding, at: place) }
        }
        self.sequences = sequences
        self.callbacks = callbacks
    }

    /// Whether nothing has changed since the look-up.
    var isCurrent: Bool { count == changes.value }

    /// The listeners as they are now.
    func renewed() -> Audience { isCurrent ? self : renamed(eventName) }

    /// The same for another event.
    func renamed(_ eventName: String) -> Audience { Audience(eventName, first, second, changes) }

    var isEmpty: Bool { sequences.isEmpty && callbacks.isEmpty }

    /// Whether there are callbacks that run there.
    func hasCallbacks(by dispatcher: CallbackDispatcher) -> Bool { callbacks.contains { $0.dispatcher === dispatcher } }

    /// Calls callbacks of this audience.
    func call(_ callbacks: Callbacks, _ event: PusherEvent) {
        for binding in callbacks.first { binding.call(event) }
        // A callback of the client may have bound another one to the channel.
        guard !callbacks.first.isEmpty, !isCurrent else {
            for binding in callbacks.second { binding.call(event) }
            return
        }
        for binding in second?.listeners(for: eventName).bindings ?? []
        where binding.dispatcher === callbacks.dispatcher {
            binding.call(event)
        }
    }

    /// Calls the callbacks that run there.
    func call(_ event: PusherEvent, by dispatcher: CallbackDispatcher) {
        for callbacks in callbacks where callbacks.dispatcher === dispatcher { call(callbacks, event) }
    }
}

extension [Audience.Callbacks] {
    fileprivate mutating func add(_ binding: Binding, at place: WritableKeyPath<Audience.Callbacks, [Binding]>) {
        let index = firstIndex { $0.dispatcher === binding.dispatcher } ?? endIndex
        if index == endIndex { append(Audience.Callbacks(dispatcher: binding.dispatcher)) }
        self[index][keyPath: place].append(binding)
    }
}
