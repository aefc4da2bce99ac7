/// Members for PusherSwift code only. New code does not need them.
extension PusherChannel {
    /// Creates a channel that is never subscribed.
    ///
    /// Only ``handleEvent(event:)`` calls the channel's callbacks. The channel's sequences end at once, and it keeps no
    /// `on…` closures.
    @available(*, deprecated, message: "Only Pusher.subscribe(_:) makes a channel that gets events.")
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

    /// The callbacks that are bound to names of events. The list does not include callbacks that are bound to every
    /// event of the channel.
    public var eventHandlers: [String: [EventHandler]] {
        listeners.bindings.mapValues { bindings in bindings.map { EventHandler(id: $0.id) } }
    }

    /// The client events that wait to be sent, oldest first.
    public var unsentEvents: [QueuedClientEvent] {
        engine.read { $0.machine.clientEvents.items(of: id) }.map { QueuedClientEvent($0.envelope) }
    }

    /// Delivers an event to the channel's callbacks and sequences, as if it had arrived again.
    @available(*, deprecated, message: "Events come from the server. Call your own code instead.")
    public func handleEvent(event: PusherEvent) { engine.deliverAgain(event, to: listeners) }
}
