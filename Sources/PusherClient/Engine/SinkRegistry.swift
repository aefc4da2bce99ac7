import Foundation
import NIOConcurrencyHelpers

/// Who wants the events of a channel, or of all channels: callbacks and sequences alike, in the order in which they came.
final class SinkRegistry: Sendable {
    fileprivate enum Sink {
        case callback(Binding)
        case sequence(UInt64, EventBuffer<PusherEvent>)

        var binding: Binding? {
            guard case .callback(let binding) = self else { return nil }
            return binding
        }
    }

    fileprivate struct State {
        var forEveryEvent: [Sink] = []
        var byName: [String: [Sink]] = [:]
        var serial: UInt64 = 0
        var isFinished = false
    }

    private let state = NIOLockedValueBox(State())
    private let sequenceLimit: Int

    init(sequenceLimit: Int) { self.sequenceLimit = sequenceLimit }

    // MARK: Callbacks

    /// - Parameters:
    ///   - name: The event's name; nil for every event.
    ///   - dispatcher: What runs the callback.
    func bind(
        _ name: String?,
        by dispatcher: CallbackDispatcher,
        _ callback: @escaping @Sendable (PusherEvent) -> Void
    ) -> String {
        let binding = Binding(dispatcher, callback)
        state.withLockedValue { state in
            if !state.isFinished { state.add(.callback(binding), name) }
        }
        return binding.id
    }

    func unbind(_ name: String?, id: String) {
        remove(from: name) { $0.binding?.id == id }
    }

    /// Unbinds the callbacks of one name.
    func unbindAll(_ name: String?) {
        remove(from: name) { $0.binding != nil }
    }

    /// Unbinds every callback. Sequences stay: they end when they are dropped.
    func unbindAll() {
        unbindAll(nil)
        for name in state.withLockedValue({ Array($0.byName.keys) }) { unbindAll(name) }
    }

    // MARK: Sequences

    func makeSequence(_ name: String?) -> EventSequence<PusherEvent> {
        let buffer = EventBuffer<PusherEvent>(limit: sequenceLimit)
        let id: UInt64? = state.withLockedValue { state in
            guard !state.isFinished else { return nil }
            state.serial += 1
            state.add(.sequence(state.serial, buffer), name)
            return state.serial
        }
        guard let id else {
            buffer.finish()
            return EventSequence(buffer: buffer) {}
        }
        return EventSequence(buffer: buffer) { [weak self] in
            self?.remove(from: name) { sink in
                guard case .sequence(id, _) = sink else { return false }
                return true
            }
        }
    }

    // MARK: Reading

    /// The callbacks that are bound to names.
    var bindings: [String: [Binding]] {
        state.withLockedValue { $0.byName }.compactMapValues { sinks in
            let bindings = sinks.compactMap(\.binding)
            return bindings.isEmpty ? nil : bindings
        }
    }

    /// The callbacks that are bound to every event.
    var bindingsToEveryEvent: [Binding] { state.withLockedValue { $0.forEveryEvent }.compactMap(\.binding) }

    // MARK: Delivery

    /// True where nobody listens to anything.
    var isEmpty: Bool { state.withLockedValue { $0.forEveryEvent.isEmpty && $0.byName.isEmpty } }

    /// What became of an event.
    struct Delivery {
        /// The sequences for which dropping began.
        var overflows = 0
        /// What runs the callbacks that are bound to it; mostly none or one.
        var dispatchers: [CallbackDispatcher] = []
    }

    /// Hands an event to the sequences, and says who is to call the callbacks.
    func deliver(_ event: PusherEvent, into delivery: inout Delivery) {
        let (forEveryEvent, named) = state.withLockedValue { ($0.forEveryEvent, $0.byName[event.eventName]) }
        Self.deliver(event, to: forEveryEvent, into: &delivery)
        if let named { Self.deliver(event, to: named, into: &delivery) }
    }

    private static func deliver(_ event: PusherEvent, to sinks: [Sink], into delivery: inout Delivery) {
        for sink in sinks {
            switch sink {
            case .callback(let binding):
                let dispatcher = binding.dispatcher
                if !delivery.dispatchers.contains(where: { $0 === dispatcher }) {
                    delivery.dispatchers.append(dispatcher)
                }
            case .sequence(_, let buffer):
                if case .beganDropping = buffer.add(event) { delivery.overflows += 1 }
            }
        }
    }

    /// The callbacks for events of that name that run there.
    func bindings(of name: String, by dispatcher: CallbackDispatcher) -> [Binding] {
        let (forEveryEvent, named) = state.withLockedValue { ($0.forEveryEvent, $0.byName[name]) }
        let sinks = named.map { forEveryEvent + $0 } ?? forEveryEvent
        return sinks.compactMap { sink in
            guard let binding = sink.binding, binding.dispatcher === dispatcher else { return nil }
            return binding
        }
    }

    /// Nothing will be delivered any more: sequences end, callbacks are unbound.
    func finish() {
        let sinks = state.withLockedValue { state in
            state.isFinished = true
            defer {
                state.forEveryEvent = []
                state.byName = [:]
            }
            return state.forEveryEvent + state.byName.values.joined()
        }
        for sink in sinks {
            switch sink {
            case .callback(let binding): binding.unbind()
            case .sequence(_, let buffer): buffer.finish()
            }
        }
    }

    private func remove(from name: String?, where matches: (Sink) -> Bool) {
        // Released outside the lock: a closure can own anything, and that may call back.
        let removed = state.withLockedValue { $0.remove(from: name, where: matches) }
        for sink in removed { sink.binding?.unbind() }
    }
}

extension SinkRegistry.State {
    fileprivate mutating func add(_ sink: SinkRegistry.Sink, _ name: String?) {
        if let name { byName[name, default: []].append(sink) } else { forEveryEvent.append(sink) }
    }

    fileprivate mutating func remove(from name: String?, where matches: (SinkRegistry.Sink) -> Bool) -> [SinkRegistry
        .Sink]
    {
        guard let name else {
            let removed = forEveryEvent.filter(matches)
            forEveryEvent.removeAll(where: matches)
            return removed
        }
        guard var sinks = byName[name] else { return [] }
        let removed = sinks.filter(matches)
        sinks.removeAll(where: matches)
        byName[name] = sinks.isEmpty ? nil : sinks
        return removed
    }
}

/// A bound callback. After ``unbind()`` returned, no call of it begins on the queue that calls it.
final class Binding: Sendable {
    let id = UUID().uuidString
    let dispatcher: CallbackDispatcher
    private let callback: NIOLockedValueBox<(@Sendable (PusherEvent) -> Void)?>

    init(_ dispatcher: CallbackDispatcher, _ callback: @escaping @Sendable (PusherEvent) -> Void) {
        self.dispatcher = dispatcher
        self.callback = NIOLockedValueBox(callback)
    }

    func call(_ event: PusherEvent) {
        callback.withLockedValue { $0 }?(event)
    }

    func unbind() {
        // The closure is released after the lock is.
        _ = callback.withLockedValue { callback in
            defer { callback = nil }
            return callback
        }
    }
}
