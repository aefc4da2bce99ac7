/// Callbacks for the events of all channels.
extension Pusher {
    /// Calls back on the callback queue for every event, on every channel or without a channel. This is a PusherSwift
    /// member. New code uses ``PusherEventSource/observe(named:_:)``.
    ///
    /// - Returns: An id for ``unbind(callbackId:)``.
    @preconcurrency @discardableResult
    public func bind(eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> String {
        engine.bind(nil, to: engine.clientListeners, eventCallback)
    }

    /// Unbinds one callback that was bound to every event.
    public func unbind(callbackId: String) { engine.clientListeners.unbind(nil, id: callbackId) }

    /// Unbinds all callbacks of the client. Callbacks of channels stay bound, and sequences continue.
    public func unbindAll() { engine.clientListeners.unbindAll() }
}
