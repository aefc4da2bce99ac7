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

    /// - Parameter holdsEvents: Whether events without a listener wait for one. See ``holdEvents()``.
    init(_ context: ListenerContext, holdsEvents: Bool = false) {
        self.context = context
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
    /// - Returns: The callback's id; `nil` if the limit is reached.
    func bind(
        _ name: String?,
        by dispatcher: CallbackDispatcher,
        _ callback: @escaping @Sendable (PusherEvent) -> Void
    ) -> String? {
        let binding = Binding(context.callbackIDs.next(), dispatcher, callback)
        let (isOverLimit, mustRelease) = change { state in
            guard state.bindingCount < context.maximumCallbacks else { return (true, false) }
            return (false, state.accepted != .nothing && state.add(.callback(binding), name))
        }
        if mustRelease { context.release(self) }
        return isOverLimit ? nil : binding.id
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

    func makeSequence(_ name: String?) -> EventSequence<PusherEvent> {
        let listener = SequenceListener(context.sequenceBudget, eventLoop: context.eventLoop)
        let buffer = listener.buffer
        let (isAccepted, mustRelease) = change { state in
            guard state.accepted == .everything else { return (false, false) }
            return (true, state.add(.sequence(listener), name))
        }
        if mustRelease { context.release(self) }
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
        /// Whether the registry holds earlier events that have a listener now.
        var mustRelease = false

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
        let (forEveryEvent, named, held) = state.withLockedValue { state in
            state.isLookedUp = true
            return (state.forEveryEvent, state.byName[name] ?? [], state.held.map { $0.value })
        }
        var listeners = EventListeners()
        listeners.add(forEveryEvent)
        listeners.add(named)
        guard let held else { return listeners }
        listeners.isHeld = forEveryEvent.isEmpty && named.isEmpty && held.waits(for: name)
        listeners.mustRelease = held.mustRelease
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

    /// Ends all delivery: sequences end, and callbacks are unbound. The sequences still get the events that waited for
    /// them.
    ///
    /// - Returns: The number of events that waited for a listener in vain.
    @discardableResult
    func finish() -> Int {
        let (listeners, held, unhandled) = change { state in
            state.accepted = .nothing
            defer {
                state.forEveryEvent = []
                state.byName = [:]
                state.bindingCount = 0
                state.held = nil
            }
            let released = state.takeHeldEvents().events
            let named = state.byName.map { name, listeners in listeners.map { (name as String?, $0) } }.joined()
            let listeners = state.forEveryEvent.map { (String?.none, $0) } + named
            return (listeners, released, state.held?.value.unhandledCount ?? 0)
        }
        for (name, listener) in listeners {
            switch listener {
            case .callback(let binding): binding.unbind()
            case .sequence(let sequence):
                sequence.finish(after: held.filter { name?.hasSameBytes(as: $0.eventName) ?? true })
            }
        }
        return unhandled
    }

    // MARK: Events without a listener

    /// Holds events that have no listener, until they have one, or until ``endHolding(_:reopen:)``.
    func holdEvents() {
        change { state in
            guard state.accepted == .everything else { return }
            if state.held == nil { state.held = Box(HeldEvents()) } else { state.held?.value.reopen() }
        }
    }

    /// Gives the held events an id, so that the caller can end the holding after a time. Returns nil if this has
    /// happened already, or if the registry holds no events.
    func limitHolding() -> HoldingID? {
        state.withLockedValue { state in
            guard state.held != nil, state.held?.value.id == nil else { return nil }
            let id = HoldingID()
            state.held?.value.id = id
            return id
        }
    }

    /// The result of ``hold(_:isHandled:)``.
    struct HoldResult {
        /// Whether the registry holds the event.
        var isHeld = false
        /// Whether a listener for the event was added meanwhile.
        var mustRelease = false
        /// Whether the caller must limit the time: see ``limitHolding()``.
        var mustLimit = false
        /// The number of unhandled events that the registry dropped.
        var unhandledCount = 0
    }

    /// Holds an event that had no listener at the lookup. Call this method on the event loop.
    ///
    /// - Parameter isHandled: Whether the event had other listeners.
    func hold(_ event: PusherEvent, isHandled: Bool) -> HoldResult {
        // Release the dropped events outside the lock, because releasing them may call the client.
        let (result, dropped) = state.withLockedValue { state -> (HoldResult, [HeldEvents.Element]) in
            guard state.held != nil else { return (HoldResult(), []) }
            let hasListener = state.hasListener(for: event.eventName)
            let dropped = state.held?.value.add(event, isHandled: isHandled, hasListener: hasListener) ?? []
            let result = HoldResult(
                isHeld: true,
                mustRelease: hasListener,
                mustLimit: state.held?.value.id == nil,
                unhandledCount: dropped.count { $0.isUnhandled }
            )
            return (result, dropped)
        }
        withExtendedLifetime(dropped) {}
        return result
    }

    /// Removes the held events that have a listener now. Call this method on the event loop.
    func takeHeldEvents() -> HeldEvents.Released {
        state.withLockedValue { $0.takeHeldEvents() }
    }

    /// Drops the held events.
    ///
    /// - Parameters:
    ///   - id: The id of ``limitHolding()``. If the app has subscribed again meanwhile, the method does nothing.
    ///   - reopen: Whether the registry holds later events.
    /// - Returns: The number of unhandled events; nil if the method does nothing.
    func endHolding(_ id: HoldingID, reopen: Bool) -> Int? {
        let ended = change { state -> HeldEvents? in
            guard let held = state.held?.value, held.id === id else { return nil }
            state.held = reopen ? Box(HeldEvents()) : nil
            return held
        }
        return ended?.unhandledCount
    }

    private func remove(from name: String?, where matches: (Listener) -> Bool) {
        // Release the closures outside the lock, because a closure can own objects whose deinitializers call the
        // client.
        let removed = change { $0.remove(from: name, where: matches) }
        for listener in removed { listener.binding?.unbind() }
    }
}

extension ListenerRegistry.State {
    /// - Returns: Whether the registry holds events for the listener.
    fileprivate mutating func add(_ listener: ListenerRegistry.Listener, _ name: String?) -> Bool {
        if listener.binding != nil { bindingCount += 1 }
        if let name { byName[name, default: []].append(listener) } else { forEveryEvent.append(listener) }
        held?.value.serve(name)
        return held?.value.mustRelease ?? false
    }

    fileprivate func hasListener(for name: String) -> Bool { !forEveryEvent.isEmpty || byName[name] != nil }

    /// Removes the held events that have a listener now.
    fileprivate mutating func takeHeldEvents() -> HeldEvents.Released {
        let (all, names) = (!forEveryEvent.isEmpty, byName)
        return held?.value.take { all || names[$0] != nil } ?? HeldEvents.Released()
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
        /// In bytes.
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

    init(_ budget: BufferBudget, eventLoop: any EventLoop) {
        buffer = EventBuffer(budget, awaitedBy: eventLoop) { $0.size }
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
    ///
    /// - Parameter held: Events that waited for the sequence.
    func finish(after held: [PusherEvent] = []) {
        state.withLockedValue { state in
            var events: [PusherEvent] = []
            swap(&events, &state.collected)
            buffer.finish(after: events + held)
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
    }

    init(_ id: String, _ dispatcher: CallbackDispatcher, _ callback: @escaping @Sendable (PusherEvent) -> Void) {
        self.id = id
        self.dispatcher = dispatcher
        self.callback = NIOLockedValueBox(Callback(call: callback))
    }

    func call(_ event: PusherEvent) {
        callback.withLockedValue { $0 }?.call(event)
    }

    func unbind() {
        // Release the closure outside the lock, because releasing it may call the client.
        _ = callback.withLockedValue { callback in
            defer { callback = nil }
            return callback
        }
    }
}
