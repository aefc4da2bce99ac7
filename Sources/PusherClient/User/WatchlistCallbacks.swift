import Foundation
import NIOConcurrencyHelpers

/// The callbacks of a watchlist.
final class WatchlistCallbacks: Sendable {
    private final class Callback: Sendable {
        let id = UUID().uuidString
        let call: @Sendable (WatchlistEvent) -> Void

        init(_ call: @escaping @Sendable (WatchlistEvent) -> Void) { self.call = call }
    }

    private let callbacks = NIOLockedValueBox<[Callback]>([])

    /// Nil where so many are bound already.
    func bind(limit: Int, _ call: @escaping @Sendable (WatchlistEvent) -> Void) -> String? {
        let callback = Callback(call)
        let isBound = callbacks.withLockedValue { callbacks in
            guard callbacks.count < limit else { return false }
            callbacks.append(callback)
            return true
        }
        return isBound ? callback.id : nil
    }

    func unbind(_ id: String) { remove { $0.id == id } }

    func unbindAll() { remove { _ in true } }

    func deliver(_ event: WatchlistEvent, by dispatcher: CallbackDispatcher) {
        for callback in callbacks.withLockedValue({ $0 }) {
            dispatcher.enqueue(
                .call {
                    // It may have been unbound while it waited for its queue.
                    if self.contains(callback) { callback.call(event) }
                }
            )
        }
    }

    private func contains(_ callback: Callback) -> Bool {
        callbacks.withLockedValue { $0.contains { $0 === callback } }
    }

    private func remove(_ matches: (Callback) -> Bool) {
        // Released outside the lock: a closure can own anything, and that may call back.
        _ = callbacks.withLockedValue { callbacks in
            defer { callbacks.removeAll(where: matches) }
            return callbacks
        }
    }
}
