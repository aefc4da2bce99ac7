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
