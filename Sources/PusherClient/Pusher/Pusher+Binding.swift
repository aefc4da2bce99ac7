/// Callbacks for the events of all channels.
extension Pusher {
    /// Calls back for every event on every channel, and for those that belong to none, on the callback queue.
    ///
    /// - Returns: An id for ``unbind(callbackId:)``.
    @preconcurrency @discardableResult
    public func bind(eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> String {
        engine.bind(nil, to: engine.everyEvent, eventCallback)
    }

    /// Calls back for every event of that name, on whatever channel, on the callback queue.
    ///
    /// - Returns: An id for ``unbind(eventName:callbackId:)``.
    @preconcurrency @discardableResult
    public func bind(eventName: String, eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> String {
        engine.bind(eventName, to: engine.everyEvent, eventCallback)
    }

    /// Ends the calls of one callback that was bound to every event.
    public func unbind(callbackId: String) { engine.everyEvent.unbind(nil, id: callbackId) }

    /// Ends the calls of one callback that was bound to a name.
    public func unbind(eventName: String, callbackId: String) { engine.everyEvent.unbind(eventName, id: callbackId) }

    /// Ends the calls of all callbacks that are bound to the client rather than to a channel. Sequences go on.
    public func unbindAll() { engine.everyEvent.unbindAll() }
}
