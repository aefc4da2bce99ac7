import NIOConcurrencyHelpers
import NIOCore
import PusherProtocol

/// The listeners of a channel, of the user or of the whole client: callbacks and sequences, in the order in which they
/// were added.
final class ListenerRegistry: Sendable {
    fileprivate enum Listener {
        case callback(Binding)
        case sequence(SequenceListener)

        var binding: Binding? {
            guard case .callback(let binding) = self else { return nil }
            return binding
        }
    }

    fileprivate struct State {
        var forEveryEvent: [Listener] = []
        var byName = WireTable<[Listener]>()
        var bindingCount = 0
        var accepted = Accepted.everything
        /// Whether code may have kept the result of ``ListenerRegistry/listeners(for:)`` since the last change.
        var isLookedUp = false
        /// The events that wait for a listener; nil if events do not wait. Few registries hold events at a time, so a box
        /// keeps the others small.
        var held: Box<HeldEvents>?
    }

    /// The kinds of listeners that the registry accepts.
    fileprivate enum Accepted {
        case everything
        /// Callbacks only. Sequences end at once.
        case callbacks
        case nothing
    }

    private let state = NIOLockedValueBox(State())
    private let context: ListenerContext

    /// Whether the events are for the signed-in user. Their callbacks do not begin after the sign-out.
    let isOfUser: Bool

    /// - Parameter holdsEvents: Whether events without a listener wait for one. See ``holdEvents()``.
    init(_ context: ListenerContext, isOfUser: Bool = false, holdsEvents: Bool = false) {
        self.context = context
        self.isOfUser = isOfUser
        if holdsEvents { holdEvents() }
    }

    private func change<Result>(_ body: (inout State) -> Result) -> Result {
        state.withLockedValue { state in
            let wasLookedUp = state.isLookedUp
            state.isLookedUp = false
            let result = body(&state)
            if wasLookedUp { context.changes.raise() }
            return result
        }
    }

    // MARK: Callbacks

    /// - Parameters:
    ///   - name: The event's name; nil for every event.
    ///   - dispatcher: The dispatcher that runs the callback.
    ///   - engine: The client. It calls the callback with the events that wait for it.
    /// - Returns: The callback's id; `nil` if the limit is reached.
    func bind(
        _ name: String?,
        by dispatcher: CallbackDispatcher,
        for engine: ClientEngine,
        _ callback: @escaping @Sendable (PusherEvent) -> Void
    ) -> String? {
        let id = context.callbackIDs.next()
        let (binding, released) = change { state -> (Binding?, HeldEvents.Released) in
            guard state.bindingCount < context.maximumCallbacks else { return (nil, .init()) }
            let released = state.takeHeldEvents(name)
            let held = released.events.isEmpty ? nil : HeldCalls(released, context)
            let binding = Binding(id, dispatcher, held, callback)
            if state.accepted != .nothing { state.add(.callback(binding), name) }
            return (binding, released)
        }
        guard let binding else { return nil }
        if !released.events.isEmpty { engine.callHeld(binding) }
        engine.reportEventsWithoutListener(released)
        return id
    }

    func unbind(_ name: String?, id: String) {
        remove(from: name) { $0.binding?.id == id }
    }

    /// Unbinds the callbacks of one name.
    func unbindAll(_ name: String?) {
        remove(from: name) { $0.binding != nil }
    }

    /// Unbinds every callback. Sequences stay until the app releases them.
    func unbindAll() {
        unbindAll(nil)
        for name in state.withLockedValue({ Array($0.byName.keys) }) { unbindAll(name) }
    }

    // MARK: Sequences

    /// - Parameter engine: The client. It reports the events that would have waited for the sequence, but were too many.
    func makeSequence(_ name: String?, for engine: ClientEngine) -> EventSequence<PusherEvent> {
        let listener = SequenceListener(context.sequenceBudget, eventLoop: context.eventLoop, work: context.work)
        let buffer = listener.buffer
        let (isAccepted, released) = change { state -> (Bool, HeldEvents.Released) in
            guard state.accepted == .everything else { return (false, .init()) }
            let released = state.takeHeldEvents(name)
            // Add the events under the lock, so that later events cannot overtake them.
            for event in released.events { buffer.add(event) }
            state.add(.sequence(listener), name)
            return (true, released)
        }
        engine.reportEventsWithoutListener(released)
        guard isAccepted else {
            buffer.finish()
            return EventSequence(buffer: buffer) {}
        }
        return EventSequence(buffer: buffer) { [weak self] in
            self?.remove(from: name) {
                guard case .sequence(let listener) = $0 else { return false }
                return listener.buffer === buffer
            }
        }
    }

    // MARK: Reading

    /// Whether there are no listeners.
    var isEmpty: Bool { state.withLockedValue { $0.forEveryEvent.isEmpty && $0.byName.isEmpty } }

    /// The callbacks that are bound to names.
    var bindings: [String: [Binding]] {
        state.withLockedValue { $0.byName }.dictionary.compactMapValues { listeners in
            let bindings = listeners.compactMap(\.binding)
            return bindings.isEmpty ? nil : bindings
        }
    }

    /// The callbacks that are bound to every event.
    var bindingsToEveryEvent: [Binding] { state.withLockedValue { $0.forEveryEvent }.compactMap(\.binding) }

    // MARK: Delivery

    /// The listeners of an event. The listeners for every event come first.
    struct EventListeners {
        var sequences: [SequenceListener] = []
        var bindings: [Binding] = []
        /// Whether there are no listeners, and the registry holds the event until there is one.
        var isHeld = false

        fileprivate mutating func add(_ listeners: [Listener]) {
            for listener in listeners {
                switch listener {
                case .sequence(let sequence): sequences.append(sequence)
                case .callback(let binding): bindings.append(binding)
                }
            }
        }
    }

    func listeners(for name: String) -> EventListeners {
        let (forEveryEvent, named, isHeld) = state.withLockedValue { state in
            state.isLookedUp = true
            return (state.forEveryEvent, state.byName[name] ?? [], state.isHeld(name))
        }
        var listeners = EventListeners()
        listeners.add(forEveryEvent)
        listeners.add(named)
        listeners.isHeld = isHeld
        return listeners
    }

    /// Accepts only callbacks from now on. The callbacks get only events that the app passes in. Sequences end at once,
    /// because no event would arrive.
    func acceptCallbacksOnly() {
        state.withLockedValue { state in
            state.accepted = .callbacks
            state.held = nil
        }
    }

    /// Ends all delivery: sequences end, and callbacks are unbound.
    ///
    /// - Returns: The events that waited for a listener, and that nobody got.
    @discardableResult
    func finish() -> [PusherEvent] {
        let (listeners, held) = change { state in
            state.accepted = .nothing
            defer {
                state.forEveryEvent = []
                state.byName = [:]
                state.bindingCount = 0
                state.held = nil
            }
            return (state.forEveryEvent + state.byName.values.joined(), state.held)
        }
        for listener in listeners {
            switch listener {
            case .callback(let binding): binding.unbind()
            case .sequence(let sequence): sequence.finish()
            }
        }
        return held?.value.unhandled ?? []
    }

    // MARK: Events without a listener

    /// Holds events that have no listener, until they have one, or until ``endHolding(at:)``.
    func holdEvents() {
        change { state in
            guard state.accepted == .everything else { return }
            if state.held == nil { state.held = Box(HeldEvents()) } else { state.held?.value.end = nil }
        }
    }

    /// Sets the time at which the registry stops holding events. Returns `false` if the time is set already, or if the
    /// registry holds no events.
    func limitHolding(until end: Instant) -> Bool {
        state.withLockedValue { state in
            guard state.held != nil, state.held?.value.end == nil else { return false }
            state.held?.value.end = end
            return true
        }
    }

    /// Holds an event that had no listener at the lookup. Call this method on the event loop.
    ///
    /// - Parameter isHandled: Whether the event had other listeners.
    /// - Returns: The unhandled events that the registry dropped; nil if the event does not have to wait any more, so
    ///   that the caller must look up the listeners again.
    func hold(_ event: PusherEvent, isHandled: Bool) -> [PusherEvent]? {
        let dropped = state.withLockedValue { state -> [HeldEvents.Element]? in
            guard state.isHeld(event.eventName) else { return nil }
            return state.held?.value.add(event, isHandled: isHandled, epoch: context.epochs.ofDelivery)
        }
        // The dropped events are released here, outside the lock, because releasing them may call the client.
        return dropped?.filter(\.isUnhandled).map(\.event)
    }

    /// Drops the held events if their time is over. Events without a listener do not wait any more.
    ///
    /// - Returns: The events that nobody got; nil if the time is not over.
    func endHolding(at now: Instant) -> [PusherEvent]? {
        let held = change { state -> HeldEvents? in
            guard let end = state.held?.value.end, end <= now else { return nil }
            defer { state.held = nil }
            return state.held?.value
        }
        return held?.unhandled
    }

    /// Drops the held events. Later events wait for a listener again, until the time after the next subscription.
    ///
    /// - Returns: The events that nobody got; nil if the registry holds no events.
    func restartHolding() -> [PusherEvent]? {
        let held = state.withLockedValue { state in
            defer { if state.held != nil { state.held = Box(HeldEvents()) } }
            return state.held?.value
        }
        return held?.unhandled
    }

    private func remove(from name: String?, where matches: (Listener) -> Bool) {
        // Release the closures outside the lock, because a closure can own objects whose deinitializers call the
        // client.
        let removed = change { $0.remove(from: name, where: matches) }
        for listener in removed { listener.binding?.unbind() }
    }
}

extension ListenerRegistry.State {
    /// Returns whether an event of this name waits for a listener.
    fileprivate func isHeld(_ name: String) -> Bool { held != nil && forEveryEvent.isEmpty && byName[name] == nil }

    /// Removes the events that wait for a new listener. Nil stands for a listener of every event.
    fileprivate mutating func takeHeldEvents(_ name: String?) -> HeldEvents.Released {
        held?.value.take(name) ?? HeldEvents.Released()
    }

    fileprivate mutating func add(_ listener: ListenerRegistry.Listener, _ name: String?) {
        if listener.binding != nil { bindingCount += 1 }
        if let name { byName[name, default: []].append(listener) } else { forEveryEvent.append(listener) }
    }

    fileprivate mutating func remove(from name: String?, where matches: (ListenerRegistry.Listener) -> Bool)
        -> [ListenerRegistry
        .Listener]
    {
        let removed = take(from: name, where: matches)
        bindingCount -= removed.count { $0.binding != nil }
        return removed
    }

    private mutating func take(from name: String?, where matches: (ListenerRegistry.Listener) -> Bool)
        -> [ListenerRegistry.Listener]
    {
        guard let name else {
            let removed = forEveryEvent.filter(matches)
            forEveryEvent.removeAll(where: matches)
            return removed
        }
        guard var listeners = byName[name] else { return [] }
        let removed = listeners.filter(matches)
        listeners.removeAll(where: matches)
        byName[name] = listeners.isEmpty ? nil : listeners
        return removed
    }
}

/// The event loop's side of a sequence. The listener collects events, and adds all collected events to the sequence's
/// buffer at once.
final class SequenceListener: Sendable {
    private struct State {
        var collected: [PusherEvent] = []
        var size = 0
        /// The space that was left in the buffer after the last addition of events.
        var space: BufferLevel.Space
    }

    /// The action that the caller of ``collect(_:)`` must take.
    enum Duty {
        /// Call ``submit()`` after collecting everything.
        case submitLater
        /// Call ``submit()`` at once, because the buffer may be full.
        case submit
        case nothing
    }

    let buffer: EventBuffer<PusherEvent>
    // Consumers never take this lock, so two threads rarely compete for it.
    private let state: NIOLockedValueBox<State>

    init(_ budget: BufferBudget, eventLoop: any EventLoop, work: AppWork?) {
        buffer = EventBuffer(budget, of: work, awaitedBy: eventLoop) { $0.size }
        state = NIOLockedValueBox(State(space: .init(count: budget.count, size: budget.size)))
    }

    /// Collects an event. Call this method on the event loop.
    func collect(_ event: PusherEvent) -> Duty {
        state.withLockedValue { state in
            state.collected.append(event)
            state.size += event.size
            if state.collected.count > state.space.count || state.size > state.space.size { return .submit }
            return state.collected.count == 1 ? .submitLater : .nothing
        }
    }

    /// Adds the collected events to the buffer. Call this method on the event loop.
    ///
    /// - Returns: The result, and the channel of the last event; nil if there were no collected events.
    func submit() -> (addition: EventBuffer<PusherEvent>.Addition, channelName: String?)? {
        state.withLockedValue { state in
            guard let last = state.collected.last else { return nil }
            var events: [PusherEvent] = []
            swap(&events, &state.collected)
            state.size = 0
            // Add the events under the lock, so that the buffer does not end before it gets them.
            let addition = buffer.append(events)
            state.space = addition.space
            return (addition, last.channelName)
        }
    }

    /// Ends the sequence after the collected events. Any thread may call this method.
    func finish() {
        state.withLockedValue { state in
            var events: [PusherEvent] = []
            swap(&events, &state.collected)
            buffer.finish(after: events)
        }
    }
}

/// A bound callback. After ``unbind()`` has returned on the queue that runs the callback, the client does not call the
/// callback again.
final class Binding: Sendable {
    let id: String
    let dispatcher: CallbackDispatcher
    private let callback: NIOLockedValueBox<Callback?>

    // A bare function in a generic box would get another wrapper at each read.
    private struct Callback: Sendable {
        let call: @Sendable (PusherEvent) -> Void
        /// The events that waited for the callback; nil if the callback has got them, or if there were none.
        var held: HeldCalls?
    }

    init(
        _ id: String,
        _ dispatcher: CallbackDispatcher,
        _ held: HeldCalls? = nil,
        _ callback: @escaping @Sendable (PusherEvent) -> Void
    ) {
        self.id = id
        self.dispatcher = dispatcher
        self.callback = NIOLockedValueBox(Callback(call: callback, held: held))
    }

    /// Whether events still wait for the callback.
    var holdsEvents: Bool { callback.withLockedValue { $0?.held != nil } }

    /// Calls the callback, first with the events that waited for it.
    ///
    /// - Parameter isLatest: Returns whether the callback for the event may still begin. The callback for an event that
    ///   waited may have ended the connection.
    func call(_ event: PusherEvent, while isLatest: () -> Bool = { true }) {
        guard let callback = callback.withLockedValue({ $0 }) else { return }
        guard callback.held != nil else { return callback.call(event) }
        callHeld()
        // The callback for an event that waited may have unbound the callback.
        if isLatest() { self.callback.withLockedValue { $0 }?.call(event) }
    }

    /// Calls the callback with the events that waited for it, if this has not happened yet. Call this method on the queue
    /// that runs the callback.
    func callHeld() {
        while let callback = callback.withLockedValue({ $0 }), let held = callback.held {
            guard let event = held.next() else { return releaseHeld() }
            callback.call(event)
        }
    }

    private func releaseHeld() {
        let held = callback.withLockedValue { callback in
            defer { callback?.held = nil }
            return callback?.held
        }
        // From now on, the callback can take the fast path: see ``EventRecipients/onlyCallback``.
        held?.changes.raise()
    }

    func unbind() {
        // Release the closure outside the lock, because releasing it may call the client.
        _ = callback.withLockedValue { callback in
            defer { callback = nil }
            return callback
        }
    }
}
