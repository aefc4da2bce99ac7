import PusherProtocol

/// The listeners for the events of one name: the client's listeners, and the listeners of one channel or of the user.
///
/// The engine looks up an audience once, and uses it until the ``ChangeCount`` rises: see ``isCurrent``.
final class Audience: Sendable {
    /// The callbacks that one dispatcher runs.
    private struct Callbacks: Sendable {
        let dispatcher: CallbackDispatcher
        /// The callbacks of the first registry, usually the client's.
        var first: [Binding] = []
        /// The callbacks of the second registry: the channel's or the user's.
        var second: [Binding] = []
    }

    let eventName: String
    let sequences: [SequenceListener]
    /// The queues that have to run callbacks.
    let queues: [CallbackDispatcher]
    /// The other queues that are in use. Their callbacks may be about to bind other callbacks.
    let otherQueues: [CallbackDispatcher]
    /// The callbacks that run on the event loop.
    private let inPlace: Callbacks?
    /// The callbacks that run on queues, with one element for each queue.
    private let queued: [Callbacks]
    private let first: ListenerRegistry
    private let second: ListenerRegistry?
    /// The channel's registry, if it holds the event until there is a listener. The audience then contains only the
    /// client's listeners, because the event reaches the channel's listeners through the registry.
    let holder: ListenerRegistry?
    /// Whether the registry holds earlier events that have a listener now. They must come before the next event.
    let mustRelease: Bool
    private let context: ListenerContext
    /// The count of changes at the lookup.
    let count: Int

    /// - Parameter count: The count of changes before the lookup in the registries; nil for the current count.
    init(
        _ eventName: String,
        _ first: ListenerRegistry,
        _ second: ListenerRegistry?,
        _ context: ListenerContext,
        count: Int? = nil
    ) {
        self.eventName = eventName
        self.first = first
        self.context = context
        // Read the count first, so that a change during the lookup makes the audience outdated.
        self.count = count ?? context.changes.value
        let ofFirst = first.listeners(for: eventName)
        let ofSecond = second?.listeners(for: eventName) ?? ListenerRegistry.EventListeners()
        self.second = ofSecond.isHeld ? nil : second
        holder = ofSecond.isHeld ? second : nil
        mustRelease = ofSecond.mustRelease
        sequences = ofFirst.sequences + ofSecond.sequences
        var callbacks: [Callbacks] = []
        func index(of dispatcher: CallbackDispatcher) -> Int {
            if let index = callbacks.firstIndex(where: { $0.dispatcher === dispatcher }) { return index }
            callbacks.append(Callbacks(dispatcher: dispatcher))
            return callbacks.endIndex - 1
        }
        for binding in ofFirst.bindings { callbacks[index(of: binding.dispatcher)].first.append(binding) }
        for binding in ofSecond.bindings { callbacks[index(of: binding.dispatcher)].second.append(binding) }
        inPlace = callbacks.firstIndex { $0.dispatcher.runsInPlace }.map { callbacks.remove(at: $0) }
        queued = callbacks
        let queues = queued.map(\.dispatcher)
        self.queues = queues
        var otherQueues: [CallbackDispatcher] = []
        context.forEachDispatcher { dispatcher in
            guard !dispatcher.runsInPlace, dispatcher.isUsed, !queues.contains(where: { $0 === dispatcher }) else {
                return
            }
            otherQueues.append(dispatcher)
        }
        self.otherQueues = otherQueues
    }

    /// Whether nothing has changed since the lookup.
    var isCurrent: Bool { count == context.changes.value }

    /// Returns whether a lookup for the event name in these registries would give the same audience.
    func isCurrent(for eventName: String, _ first: ListenerRegistry, _ second: ListenerRegistry?) -> Bool {
        isCurrent && self.first === first && (self.second ?? holder) === second
            && self.eventName.hasSameBytes(as: eventName)
    }

    /// Returns an audience with the current listeners. If a registry holds the event, the audience does not contain the
    /// channel's listeners.
    func renewed() -> Audience { isCurrent ? self : Audience(eventName, first, second, context) }

    /// Looks up the current listeners for another event name.
    func renamed(_ eventName: String, by lookUp: (String, ListenerRegistry, ListenerRegistry?) -> Audience) -> Audience
    {
        lookUp(eventName, first, second ?? holder)
    }

    var isEmpty: Bool { sequences.isEmpty && inPlace == nil && queued.isEmpty }

    /// Returns whether there are callbacks that run on the queue.
    func hasCallbacks(by queue: CallbackDispatcher) -> Bool { queues.contains { $0 === queue } }

    /// The only listener, if it is a callback of the channel and runs on the event loop. A callback of the client does
    /// not count, because it may bind another callback to the channel.
    var onlyCallback: Binding? {
        guard let inPlace, inPlace.first.isEmpty, inPlace.second.count == 1 else { return nil }
        return sequences.isEmpty && queues.isEmpty && otherQueues.isEmpty ? inPlace.second.first : nil
    }

    /// Calls the callbacks that run on the event loop.
    func callInPlace(_ event: PusherEvent) {
        if let inPlace { call(inPlace, event, context.epoch.ofDelivery) }
    }

    /// Calls the callbacks that run on the queue.
    func call(_ event: PusherEvent, of epoch: Int, by queue: CallbackDispatcher) {
        // The comment at the loop below explains why the loop uses an index.
        var index = 0
        while index < queued.count {
            if queued[index].dispatcher === queue { call(queued[index], event, epoch) }
            index &+= 1
        }
    }

    private func call(_ callbacks: Callbacks, _ event: PusherEvent, _ epoch: Int) {
        callbacks.first.call(event, epoch, context.epoch)
        // A callback of the client may have bound another callback to the channel.
        guard !callbacks.first.isEmpty, !isCurrent else {
            return callbacks.second.call(event, epoch, context.epoch)
        }
        let bindings = second?.listeners(for: eventName).bindings ?? []
        bindings.filter { $0.dispatcher === callbacks.dispatcher }.call(event, epoch, context.epoch)
    }
}

extension [Binding] {
    // The loop uses an index, because an iterator would retain the array and each binding.
    @inline(__always)
    fileprivate func call(_ event: PusherEvent, _ epoch: Int, _ epochs: ConnectionEpoch) {
        var index = 0
        while index < count, epochs.isLatest(epoch) {
            self[index].call(event)
            index &+= 1
        }
    }
}
