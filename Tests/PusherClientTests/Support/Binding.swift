@testable import PusherClient

// These methods bind callbacks without an observation. Apps use `observe` for listeners that PusherSwift does not have.

extension Pusher {
    @discardableResult
    func bind(eventName: String, eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> String {
        engine.bind(eventName, to: engine.clientListeners, eventCallback)
    }

    func unbind(eventName: String, callbackId: String) {
        engine.clientListeners.unbind(eventName, id: callbackId)
    }
}

extension PusherChannel {
    @discardableResult
    func bind(eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> String {
        engine.bind(nil, to: listeners, eventCallback)
    }

    func unbind(callbackId: String) { listeners.unbind(nil, id: callbackId) }
}

extension PusherUser {
    @discardableResult
    func bind(eventName: String? = nil, eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> String {
        engine.bind(eventName, to: engine.userListeners, eventCallback)
    }

    func unbind(eventName: String?, callbackId: String) {
        engine.userListeners.unbind(eventName, id: callbackId)
    }

    func unbindAll() { engine.userListeners.unbindAll() }
}

extension PusherWatchlist {
    @discardableResult
    func bind(eventName: String, eventCallback: @escaping @Sendable (WatchlistEvent) -> Void) -> String {
        let (callbacks, limit) = (engine.watchlistCallbacks, engine.limits.bindings)
        return callbacks.bind(eventName, by: engine.dispatcher, limit: limit, eventCallback)
            ?? engine.reportUnbound("the watchlist")
    }

    func unbind(callbackId: String) { engine.watchlistCallbacks.unbind(callbackId) }

    func unbindAll() { engine.watchlistCallbacks.unbindAll() }
}
