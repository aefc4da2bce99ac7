import PusherProtocol

/// The listeners for the events of one name: the client's listeners, and the listeners of one channel or of the user.
///
/// The engine looks up an recipients once, and uses it until the ``ChangeCount`` rises: see ``isCurrent``.
final class EventRecipients: Sendable {
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
    /// Whether the second registry holds the event until there is a listener. The recipients then contains only listeners
    /// of the first registry, because the event reaches those of the second through the registry.
    let isHeld: Bool
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
        self.second = second
        self.context = context
        // Read the count first, so that a change during the lookup makes the recipients outdated.
        self.count = count ?? context.changes.value
        let ofFirst = first.listeners(for: eventName)
        let ofSecond = second?.listeners(for: eventName) ?? ListenerRegistry.EventListeners()
        isHeld = ofSecond.isHeld
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

    /// Returns whether a lookup for the event name in these registries would give the same recipients.
    func isCurrent(for eventName: String, _ first: ListenerRegistry, _ second: ListenerRegistry?) -> Bool {
        isCurrent && self.first === first && self.second === second && self.eventName.hasSameBytes(as: eventName)
    }

    /// Returns an recipients with the current listeners. If a registry holds the event, these are only listeners of the
    /// first registry.
    func renewed() -> EventRecipients {
        isCurrent ? self : EventRecipients(eventName, first, isHeld ? nil : second, context)
    }

    /// Returns an recipients with the current listeners for another event name.
    func renamed(_ eventName: String) -> EventRecipients { EventRecipients(eventName, first, second, context) }

    /// Makes the second registry hold the event.
    ///
    /// - Returns: See ``ListenerRegistry/hold(_:isHandled:)``.
    func hold(_ event: PusherEvent) -> [PusherEvent]? { second?.hold(event, isHandled: !isEmpty) }

    var isEmpty: Bool { sequences.isEmpty && inPlace == nil && queued.isEmpty }

    /// Returns whether there are callbacks that run on the queue.
    func hasCallbacks(by queue: CallbackDispatcher) -> Bool { queues.contains { $0 === queue } }

    /// The only listener, if it is a callback of the channel and runs on the event loop. A callback for which events wait
    /// does not count, because the callbacks for these events may end the connection.
    var onlyCallback: Binding? {
        guard let inPlace, inPlace.first.isEmpty, inPlace.second.count == 1, !inPlace.second[0].holdsEvents else {
            return nil
        }
        return sequences.isEmpty && queues.isEmpty && otherQueues.isEmpty ? inPlace.second.first : nil
    }

    /// Calls the callbacks that run on the event loop.
    func callInPlace(_ event: PusherEvent) {
        if let inPlace { call(inPlace, event, context.epochs.ofDelivery) }
    }

    /// Calls the callbacks that run on the queue.
    func call(_ event: PusherEvent, of epoch: CallbackEpochs.Epoch, by queue: CallbackDispatcher) {
        // The comment at the loop below explains why the loop uses an index.
        var index = 0
        while index < queued.count {
            if queued[index].dispatcher === queue { call(queued[index], event, epoch) }
            index &+= 1
        }
    }

    private func call(_ callbacks: Callbacks, _ event: PusherEvent, _ epoch: CallbackEpochs.Epoch) {
        let (epochs, isForUser) = (context.epochs, second?.isOfUser == true)
        func isLatest() -> Bool { epochs.isLatest(epoch, isForUser: isForUser) }
        callbacks.first.call(event, while: isLatest)
        callbacks.second.call(event, while: isLatest)
    }
}

extension [Binding] {
    // The loop uses an index, because an iterator would retain the array and each binding.
    @inline(__always)
    fileprivate func call(_ event: PusherEvent, while isLatest: () -> Bool) {
        var index = 0
        while index < count, isLatest() {
            self[index].call(event, while: isLatest)
            index &+= 1
        }
    }
}
