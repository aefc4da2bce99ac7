import Logging
import PusherProtocol

/// Subscribing to channels, and unsubscribing.
extension Pusher {
    /// Subscribes to a channel, now or as soon as there is a connection, and again after each loss.
    ///
    /// If the app is already subscribed to the channel, the method returns the existing object. If the subscription
    /// failed, the method subscribes again. New closures and a new authorization replace the earlier ones. The client
    /// reports failures to the delegate, as `pusher:subscription_error`, and by ``PusherChannel/subscribed(timeout:)``.
    ///
    /// Until 5 s after the server's answer, events wait if the channel has no listener for them: the newest 256 events, at
    /// most 1 MiB. The next listener of their name, or of every event, gets them before later events. Events of the
    /// protocol (`pusher:…`) wait only for a listener of their name. The listeners of ``Pusher`` get each event at once.
    /// Another call of the method begins a new period, and ``disconnect()`` drops the events that wait.
    ///
    /// A trailing closure that uses its argument as a member is `onMemberAdded`, as in PusherSwift. If the closure uses
    /// its argument as an event, the compiler selects ``subscribe(_:auth:onEvent:onSubscriptionCountChanged:)``, and
    /// the closure gets the channel's events.
    ///
    /// The client keeps a channel until the app unsubscribes. If there are already
    /// ``PusherClientOptions/Limits-swift.struct/channels`` channels, the client does not subscribe. The returned
    /// channel then stays empty: its sequences end at once, and the client does not call its callbacks. The channel's
    /// ``PusherChannel/subscribed(timeout:)`` throws. The delegate and the client's callbacks get the error.
    ///
    /// - Parameters:
    ///   - channelName: The channel's name. The prefix determines the kind: `private-`, `private-encrypted-`,
    ///     `presence-`, or none for a public channel. If `cache-` follows the prefix, the server keeps the channel's
    ///     last event.
    ///   - auth: An authorization for the current connection, instead of ``PusherClientOptions/authMethod``; see
    ///     ``PusherChannel/auth``.
    ///   - onMemberAdded: A closure that the client calls with each member who joins a presence channel.
    ///   - onMemberRemoved: A closure that the client calls with each member who leaves a presence channel.
    ///   - onSubscriptionCountChanged: A closure that the client calls with each new number of subscriptions.
    /// - Returns: The channel. If the name begins with `presence-`, it is a ``PusherPresenceChannel``.
    @preconcurrency @discardableResult
    public func subscribe(
        _ channelName: String,
        auth: PusherAuth? = nil,
        onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil,
        onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil,
        onSubscriptionCountChanged: (@Sendable (Int) -> Void)? = nil
    ) -> PusherChannel {
        subscribe(
            to: channelName,
            auth: auth,
            ChannelCallbacks(
                onMemberAdded: onMemberAdded,
                onMemberRemoved: onMemberRemoved,
                onSubscriptionCountChanged: onSubscriptionCountChanged
            )
        )
    }

    /// Subscribes to a channel, and calls back for each of its events, on the callback queue, until the app
    /// unsubscribes.
    ///
    /// ```swift
    /// pusher.subscribe("orders") { event in print(event.eventName, event.data ?? "") }
    /// ```
    ///
    /// If a closure uses only `userId`, or ignores its argument, it also accepts members. The compiler then uses it as
    /// PusherSwift's `onMemberAdded`. To choose this method, name the argument's type (`{ (event: PusherEvent) in … }`)
    /// or the closure's label.
    ///
    /// To stop the calls earlier, or to get events of one name, use ``PusherEventSource/observe(named:_:)``.
    ///
    /// - Parameters:
    ///   - channelName: The name of the channel.
    ///   - auth: An authorization for the current connection.
    ///   - onEvent: A closure that the client calls with each event. If you call the method again with another closure,
    ///     the client calls both closures.
    ///   - onSubscriptionCountChanged: A closure that the client calls with each new number of subscriptions.
    /// - Returns: The channel.
    @_disfavoredOverload @preconcurrency @discardableResult
    public func subscribe(
        _ channelName: String,
        auth: PusherAuth? = nil,
        onEvent: (@Sendable (PusherEvent) -> Void)? = nil,
        onSubscriptionCountChanged: (@Sendable (Int) -> Void)? = nil
    ) -> PusherChannel {
        // If this method had only one closure, Swift 5 mode would also choose this method for closures that
        // PusherSwift's method accepts.
        subscribe(
            to: channelName,
            auth: auth,
            ChannelCallbacks(onEvent: onEvent, onSubscriptionCountChanged: onSubscriptionCountChanged)
        )
    }

    /// Subscribes to a presence channel, as
    /// ``subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)`` does.
    ///
    /// If the name does not begin with `presence-`, the client does not subscribe. The returned channel stays empty,
    /// the client does not call its callbacks, and its ``PusherChannel/subscribed(timeout:)`` throws.
    @preconcurrency @discardableResult
    public func subscribeToPresenceChannel(
        channelName: String,
        auth: PusherAuth? = nil,
        onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil,
        onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil,
        onSubscriptionCountChanged: (@Sendable (Int) -> Void)? = nil
    ) -> PusherPresenceChannel {
        if PusherChannelType.isPresenceChannel(name: channelName) {
            let callbacks = ChannelCallbacks(
                onMemberAdded: onMemberAdded,
                onMemberRemoved: onMemberRemoved,
                onSubscriptionCountChanged: onSubscriptionCountChanged
            )
            let channel = subscribe(to: channelName, auth: auth, callbacks)
            if let channel = channel as? PusherPresenceChannel { return channel }
        }
        let failed = engine.step { state, _ in
            let error = SubscriptionError(
                .invalidChannelName,
                channelName: channelName,
                "Invalid presence channel \(channelName.quoted): its name does not begin with presence-."
            )
            let id = state.machine.makeFailedChannel(error, into: &state.pending)
            return PusherPresenceChannel(name: channelName, id: id, engine: engine, fault: error)
        }
        failed.retire()
        return failed
    }

    private func subscribe(to channelName: String, auth: PusherAuth?, _ callbacks: ChannelCallbacks) -> PusherChannel {
        let engine = engine
        let authorization = auth.map { Authorization($0) }
        let (channel, isNew, isBound) = engine.step { state, now in
            let result = state.machine.subscribe(channelName, auth: authorization, now: now, into: &state.pending)
            let (channel, isNew) = state.channel(of: result) {
                Self.makeChannel(channelName, result.id, engine, callbacks, fault: result.error)
            }
            // Bind the closure within the transition, because the first event can already be among the effects of the
            // transition.
            let isBound = callbacks.onEvent.map {
                channel.listeners.bind(nil, by: engine.dispatcher, for: engine, $0) != nil
            }
            return (channel, isNew, isBound)
        }
        if !isNew { engine.holdEvents(again: channel) }
        if isBound == false { _ = engine.reportUnbound("every event") }
        if channel.fault != nil { channel.retire() }
        guard !isNew else {
            warn(about: channelName, hasMemberClosures: callbacks.hasMemberClosures)
            return channel
        }
        if let callback = callbacks.onSubscriptionCountChanged { channel.onSubscriptionCountChanged = callback }
        if let channel = channel as? PusherPresenceChannel {
            if let callback = callbacks.onMemberAdded { channel.onMemberAdded = callback }
            if let callback = callbacks.onMemberRemoved { channel.onMemberRemoved = callback }
        }
        return channel
    }

    /// Warns of calls that compile, but are probably mistakes.
    private func warn(about channelName: String, hasMemberClosures: Bool) {
        let kind = ChannelKind(ofChannelNamed: channelName).base
        if hasMemberClosures, kind != .presence {
            engine.logger.warning(
                """
                A closure for members is never called, because the channel is not a presence channel. Swift uses a \
                trailing closure of subscribe(_:) as onMemberAdded if the closure could take a member. For events, \
                declare its argument: { (event: PusherEvent) in … }
                """,
                metadata: ["pusher.channel": "\(channelName.escapingControls)"]
            )
        }
        let start = channelName.lowercased()
        if kind == .public, start.hasPrefix("private") || start.hasPrefix("presence") {
            engine.logger.warning(
                "The channel is public: its name does not begin with private- or presence-, in lower case.",
                metadata: ["pusher.channel": "\(channelName.escapingControls)"]
            )
        }
    }

    static func makeChannel(
        _ name: String,
        _ id: ChannelID,
        _ engine: ClientEngine,
        _ callbacks: ChannelCallbacks = ChannelCallbacks(),
        fault: SubscriptionError? = nil
    ) -> PusherChannel {
        guard PusherChannelType.isPresenceChannel(name: name) else {
            return PusherChannel(
                name: name,
                id: id,
                engine: engine,
                onSubscriptionCountChanged: callbacks.onSubscriptionCountChanged,
                fault: fault
            )
        }
        return PusherPresenceChannel(
            name: name,
            id: id,
            engine: engine,
            onMemberAdded: callbacks.onMemberAdded,
            onMemberRemoved: callbacks.onMemberRemoved,
            onSubscriptionCountChanged: callbacks.onSubscriptionCountChanged,
            fault: fault
        )
    }

    /// Unsubscribes from a channel, in any state. The channel's sequences end, and its callbacks are unbound. After
    /// this method has returned on the queue that runs a callback, the client does not call that callback again.
    public func unsubscribe(_ channelName: String) {
        let channel = engine.step { state, now in
            defer { state.machine.unsubscribe(channelName, now: now, into: &state.pending) }
            return state.channel(named: channelName)
        }
        channel?.retire()
    }

    /// Unsubscribes from all channels, as ``unsubscribe(_:)`` does.
    public func unsubscribeAll() {
        let channels = engine.step { state, now in
            defer { state.machine.unsubscribeAll(now: now, into: &state.pending) }
            return state.machine.wantedSubscriptions.compactMap { state.channels[$0.id] }
        }
        for channel in channels { channel.retire() }
    }
}

/// The closures that a call of `subscribe` passes for the channel.
struct ChannelCallbacks: Sendable {
    var onEvent: (@Sendable (PusherEvent) -> Void)?
    var onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)?
    var onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)?
    var onSubscriptionCountChanged: (@Sendable (Int) -> Void)?

    var hasMemberClosures: Bool { onMemberAdded != nil || onMemberRemoved != nil }
}
