import NIOConcurrencyHelpers

/// The callbacks of a watchlist.
final class WatchlistCallbacks: Sendable {
    private final class Callback: Sendable {
        let id: String
        /// The event's name; nil for every event.
        let eventName: String?
        let dispatcher: CallbackDispatcher
        private let call: @Sendable (WatchlistEvent) -> Void
        private let isBound = NIOLockedValueBox(true)

        init(
            _ id: String,
            _ eventName: String?,
            _ dispatcher: CallbackDispatcher,
            _ call: @escaping @Sendable (WatchlistEvent) -> Void
        ) {
            self.id = id
            self.eventName = eventName
            self.dispatcher = dispatcher
            self.call = call
        }

        /// Calls the callback, unless it was unbound while it waited for its queue.
        func call(_ event: WatchlistEvent) {
            if isBound.withLockedValue({ $0 }) { call(event) }
        }

        func unbind() { isBound.withLockedValue { $0 = false } }
    }

    private struct State {
        var callbacks: [Callback] = []
        var isFinished = false
    }

    private let state = NIOLockedValueBox(State())
    private let ids: CallbackIDs

    init(_ ids: CallbackIDs) { self.ids = ids }

    /// Binds a callback and returns its id; nil if the limit of callbacks is reached.
    func bind(
        _ eventName: String?,
        by dispatcher: CallbackDispatcher,
        limit: Int,
        _ call: @escaping @Sendable (WatchlistEvent) -> Void
    ) -> String? {
        let callback = Callback(ids.next(), eventName, dispatcher, call)
        let isBound = state.withLockedValue { state in
            guard state.callbacks.count < limit else { return false }
            // After `finish()`, the object stores no new callbacks.
            if !state.isFinished { state.callbacks.append(callback) }
            return true
        }
        return isBound ? callback.id : nil
    }

    func unbind(_ id: String) { remove { $0.id == id } }

    func unbindAll() { remove { _ in true } }

    /// Releases all callbacks when the client is released. Afterwards, the object stores no new callbacks.
    func finish() {
        state.withLockedValue { $0.isFinished = true }
        unbindAll()
    }

    func deliver(_ event: WatchlistEvent, for engine: ClientEngine) {
        let meant = state.withLockedValue { $0.callbacks }
            .filter { $0.eventName == nil || $0.eventName == event.name }
        let epochs = engine.listenerContext.epochs
        let epoch = epochs.ofDelivery
        engine.listenerContext.forEachDispatcher { dispatcher in
            let callbacks = meant.filter { $0.dispatcher === dispatcher }
            guard !callbacks.isEmpty else { return }
            // The callbacks of one dispatcher are one entry of its queue, so the queue keeps all of them or drops all
            // of them.
            dispatcher.enqueue(size: event.size, for: engine) {
                for callback in callbacks where epochs.isLatest(epoch, isForUser: true) { callback.call(event) }
            }
        }
    }

    private func remove(_ matches: (Callback) -> Bool) {
        // Release the closures outside the lock, because a closure can own objects whose deinitializers call the
        // client.
        let removed = state.withLockedValue { state in
            defer { state.callbacks.removeAll(where: matches) }
            return state.callbacks.filter(matches)
        }
        for callback in removed { callback.unbind() }
    }
}

extension WatchlistEvent {
    var size: Int { userIds.reduce(name.utf8.count) { $0 + $1.utf8.count + 16 } }
}
