/// Members for PusherSwift code only. New code does not need them.
extension PusherChannel {
    /// Makes a channel that is never subscribed.
    ///
    /// Only ``handleEvent(event:)`` calls its callbacks. Its sequences end at once, and its `on…` closures are not
    /// kept.
    @available(*, deprecated, message: "Only Pusher.subscribe(_:) makes a channel that events come to.")
    @preconcurrency
    public convenience init(
        name: String,
        connection: PusherConnection,
        auth: PusherAuth? = nil,
        onSubscriptionCountChanged: (@Sendable (Int) -> Void)? = nil
    ) {
        let engine = connection.engine
        let id = engine.step { state, _ in state.machine.makeChannel() }
        self.init(name: name, id: id, engine: engine, onSubscriptionCountChanged: onSubscriptionCountChanged)
        listeners.acceptCallbacksOnly()
        finishListeners()
    }

    /// The callbacks that are bound to names of events. Callbacks that are bound to every event of the channel are not
    /// included.
    public var eventHandlers: [String: [EventHandler]] {
        listeners.bindings.mapValues { bindings in bindings.map { EventHandler(id: $0.id) } }
    }

    /// The client events that wait to be sent, oldest first.
    public var unsentEvents: [QueuedClientEvent] {
        engine.read { $0.machine.clientEvents.items(of: id) }.map { QueuedClientEvent($0.envelope) }
    }

    /// Delivers an event to the channel's callbacks, as if it had arrived again.
    @available(*, deprecated, message: "Events come from the server. Call your own code in place of this.")
    public func handleEvent(event: PusherEvent) { engine.deliverAgain(event, to: listeners) }
}
