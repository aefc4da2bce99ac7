/// Callbacks for the events of all channels.
extension Pusher {
    /// Calls back on the callback queue for every event, on every channel or without a channel. A PusherSwift member:
    /// new code has ``PusherEventSource/observe(named:_:)``.
    ///
    /// - Returns: An id for ``unbind(callbackId:)``.
    @preconcurrency @discardableResult
    public func bind(eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> String {
        engine.bind(nil, to: engine.clientListeners, eventCallback)
    }

    /// Ends the calls of one callback that was bound to every event.
    public func unbind(callbackId: String) { engine.clientListeners.unbind(nil, id: callbackId) }

    /// Ends the calls of all callbacks that are bound to the client, and not to a channel. Sequences go on.
    public func unbindAll() { engine.clientListeners.unbindAll() }
}

// Apps use `observe` instead. The package's own tests and tools bind callbacks for the client's whole life.

extension Pusher {
    @discardableResult
    package func bind(eventName: String, eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> String {
        engine.bind(eventName, to: engine.clientListeners, eventCallback)
    }

    package func unbind(eventName: String, callbackId: String) {
        engine.clientListeners.unbind(eventName, id: callbackId)
    }
}

extension PusherChannel {
    @discardableResult
    package func bind(eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> String {
        engine.bind(nil, to: listeners, eventCallback)
    }

    package func unbind(callbackId: String) { listeners.unbind(nil, id: callbackId) }
}

extension PusherUser {
    @discardableResult
    package func bind(eventName: String? = nil, eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> String {
        engine.bind(eventName, to: engine.userListeners, eventCallback)
    }

    package func unbind(eventName: String?, callbackId: String) {
        engine.userListeners.unbind(eventName, id: callbackId)
    }

    package func unbindAll() { engine.userListeners.unbindAll() }
}

extension PusherWatchlist {
    @discardableResult
    package func bind(eventName: String, eventCallback: @escaping @Sendable (WatchlistEvent) -> Void) -> String {
        let (callbacks, limit) = (engine.watchlistCallbacks, engine.limits.bindings)
        return callbacks.bind(eventName, by: engine.dispatcher, limit: limit, eventCallback)
            ?? engine.reportUnbound("the watchlist")
    }

    package func unbind(callbackId: String) { engine.watchlistCallbacks.unbind(callbackId) }

    package func unbindAll() { engine.watchlistCallbacks.unbindAll() }
}
