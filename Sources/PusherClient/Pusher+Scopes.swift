extension Pusher {
    /// Subscribes to a channel for as long as the work lasts. Several parts of an application may do so at once: they
    /// share the channel, and the last to leave unsubscribes it.
    ///
    /// ```swift
    /// await pusher.withChannel("orders") { channel in
    ///     for await order in channel.events(named: "created", as: Order.self) { show(order) }
    /// }
    /// ```
    ///
    /// The work begins at once, so that no event is missed; call ``PusherChannel/subscribed()`` in it to wait for the
    /// server, and to hear of refusals. A channel that was subscribed by
    /// ``subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)`` too stays subscribed.
    /// ``unsubscribe(_:)`` ends the channel for all: their sequences end.
    ///
    /// - Parameters:
    ///   - channelName: The channel.
    ///   - body: The work; it is given the channel, a ``PusherPresenceChannel`` where the name is that of one.
    /// - Returns: What the work returns.
    /// - Throws: What the work throws.
    @discardableResult
    public func withChannel<Result>(
        _ channelName: String,
        _ body: (PusherChannel) async throws -> Result
    ) async rethrows -> Result {
        let engine = engine
        let channel = engine.step { state, now in
            let result = state.machine.subscribe(channelName, isLease: true, now: now, into: &state.pending)
            return state.channel(of: result) {
                Self.makeChannel(channelName, result.id, engine, fault: result.refusal)
            }.channel
        }
        if channel.fault != nil { channel.finish() }
        defer {
            engine.step { state, now in
                state.machine.endLease(of: channelName, channel.id, now: now, into: &state.pending)
            }
        }
        return try await body(channel)
    }
}
