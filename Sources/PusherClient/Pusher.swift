import Logging
import NIOCore
import NIOPosix
import PusherProtocol

/// A client of a Pusher Channels server.
///
/// ```swift
/// let pusher = Pusher(key: "app-key", options: PusherClientOptions(host: .cluster("eu")))
/// let channel = pusher.subscribe("orders")
/// channel.bind(eventName: "created") { event in print(event.data ?? "") }
/// pusher.connect()
/// ```
///
/// Keep it: when the last reference to it goes, the connection is closed. All of it may be used from any thread, and no
/// call blocks. Callbacks run on the main queue unless the options say otherwise.
public final class Pusher: Sendable {
    /// The connection: state, socket id, and settings that can change.
    public let connection: PusherConnection
    /// The user who is signed in, or will be: their own events, and those whom they watch. See ``signIn()``.
    public let user: PusherUser
    var engine: ClientEngine { connection.engine }

    /// Makes a client. It does not connect yet.
    ///
    /// A key or an option that cannot be used is reported when ``connect()`` or ``connected()`` is called.
    ///
    /// - Parameters:
    ///   - key: The app key.
    ///   - options: How to connect and to behave.
    public convenience init(key: String, options: PusherClientOptions = PusherClientOptions()) {
        let transport = WebSocketTransport(options)
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let requester = AsyncHTTPRequester(
            tls: options.tls,
            maximumConnections: options.limits.authorizationsAtOnce
        )
        self.init(
            key: key,
            options: options,
            environment: .init(eventLoop: eventLoop, transport: transport, requester: requester)
        )
    }

    /// Makes a client in an environment of its own: for tests.
    package init(key: String, options: PusherClientOptions, environment: ClientEngine.Environment) {
        let endpoint = Endpoint(key: key, options: options)
        let engine = ClientEngine(
            key: key,
            configuration: CoreConfiguration(endpoint, options: options),
            options: options,
            environment: environment
        )
        connection = PusherConnection(engine: engine, key: key, url: endpoint.url, options: options)
        user = PusherUser(engine: engine)
    }

    deinit {
        let isInUse = engine.read { $0.machine.connectionState != .disconnected && !$0.channels.isEmpty }
        if isInUse {
            engine.logger.warning(
                "A Pusher was released while it had channels; its connection ends. Keep a reference to it, or disconnect."
            )
        }
        engine.release()
    }

    /// The delegate. It is not kept alive.
    public var delegate: (any PusherDelegate)? {
        get { connection.delegate }
        set { connection.delegate = newValue }
    }

    // MARK: Connecting

    /// Connects, and stays connected until ``disconnect()``: lost connections are made again, and their channels
    /// subscribed again.
    ///
    /// Returns at once, when the state is ``ConnectionState/connecting``, unless the options cannot be used. While connected or connecting it does nothing;
    /// while the client waits before another attempt, that attempt is made now.
    public func connect() { connection.connect() }

    /// Disconnects, in whatever state the client is. Returns at once; nothing is tried any more.
    ///
    /// Channels and bindings stay, and are subscribed again at the next ``connect()``.
    public func disconnect() { connection.disconnect() }

    // MARK: Channels

    /// Subscribes to a channel, now or as soon as there is a connection, and again after each loss.
    ///
    /// For a channel that is subscribed already, that channel is returned, and subscribed again if it had failed; the
    /// closures and the authorization that are given replace those it had. What goes wrong is reported to the delegate,
    /// as `pusher:subscription_error`, and by ``PusherChannel/subscribed()``. Events come to what is bound to the channel: a
    /// trailing closure is `onMemberAdded`.
    ///
    /// - Parameters:
    ///   - channelName: The channel. Its prefix says of what kind it is: `private-`, `private-encrypted-`, `presence-`,
    ///     or none for a public one; and, after that, `cache-` for a channel whose last event is kept.
    ///   - auth: An authorization for the connection that stands, in place of ``PusherClientOptions/authMethod``; see
    ///     ``PusherChannel/auth``.
    ///   - onMemberAdded: Called with each member who comes to a presence channel.
    ///   - onMemberRemoved: Called with each member who leaves it.
    ///   - onSubscriptionCountChanged: Called with each new number of subscriptions.
    /// - Returns: The channel; a ``PusherPresenceChannel`` where the name is that of one.
    @preconcurrency @discardableResult
    public func subscribe(
        _ channelName: String,
        auth: PusherAuth? = nil,
        onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil,
        onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil,
        onSubscriptionCountChanged: (@Sendable (Int) -> Void)? = nil
    ) -> PusherChannel {
        let engine = engine
        let authorization = auth.map { Authorization($0) }
        let (channel, isNew) = engine.step { state, now in
            let result = state.machine.subscribe(channelName, auth: authorization, now: now, into: &state.pending)
            if let channel = state.channels[result.id] { return (channel, false) }
            let channel = Self.makeChannel(
                channelName,
                result.id,
                engine,
                onMemberAdded: onMemberAdded,
                onMemberRemoved: onMemberRemoved,
                onSubscriptionCountChanged: onSubscriptionCountChanged
            )
            state.channels[result.id] = channel
            return (channel, true)
        }
        guard !isNew else {
            warn(about: channelName, hasMemberClosures: onMemberAdded != nil || onMemberRemoved != nil)
            return channel
        }
        if let onSubscriptionCountChanged { channel.onSubscriptionCountChanged = onSubscriptionCountChanged }
        if let channel = channel as? PusherPresenceChannel {
            if let onMemberAdded { channel.onMemberAdded = onMemberAdded }
            if let onMemberRemoved { channel.onMemberRemoved = onMemberRemoved }
        }
        return channel
    }

    /// Subscribes to a presence channel, as
    /// ``subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)`` does.
    ///
    /// Where the name is not that of a presence channel nothing is subscribed: the channel that is returned stays empty,
    /// and its ``PusherChannel/subscribed()`` throws.
    @preconcurrency @discardableResult
    public func subscribeToPresenceChannel(
        channelName: String,
        auth: PusherAuth? = nil,
        onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil,
        onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil,
        onSubscriptionCountChanged: (@Sendable (Int) -> Void)? = nil
    ) -> PusherPresenceChannel {
        let channel = subscribePresence(
            channelName,
            auth: auth,
            onMemberAdded: onMemberAdded,
            onMemberRemoved: onMemberRemoved,
            onSubscriptionCountChanged: onSubscriptionCountChanged
        )
        if let channel { return channel }
        return engine.step { state, now in
            let error = SubscriptionError(
                .invalidChannelName,
                channelName: channelName,
                "\(String(reflecting: String(channelName.prefix(200)))) is no presence channel: its name does not begin with presence-"
            )
            let id = state.machine.refuseChannel(error, into: &state.pending)
            return PusherPresenceChannel(name: channelName, id: id, engine: engine, fault: error)
        }
    }

    /// Says what compiles, and is hardly meant.
    private func warn(about channelName: String, hasMemberClosures: Bool) {
        let kind = ChannelKind(ofChannelNamed: channelName).base
        if hasMemberClosures, kind != .presence {
            engine.logger.warning(
                """
                subscribe(_:) was given a closure for members, and the channel has none: a trailing closure is \
                onMemberAdded. For events, bind to the channel.
                """,
                metadata: ["pusher.channel": "\(channelName)"]
            )
        }
        let start = channelName.lowercased()
        if kind == .public, start.hasPrefix("private") || start.hasPrefix("presence") {
            engine.logger.warning(
                "The channel is public: its name does not begin with private- or presence-, in lower case.",
                metadata: ["pusher.channel": "\(channelName)"]
            )
        }
    }

    private func subscribePresence(
        _ channelName: String,
        auth: PusherAuth?,
        onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)?,
        onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)?,
        onSubscriptionCountChanged: (@Sendable (Int) -> Void)?
    ) -> PusherPresenceChannel? {
        guard PusherChannelType.isPresenceChannel(name: channelName) else { return nil }
        let channel = subscribe(
            channelName,
            auth: auth,
            onMemberAdded: onMemberAdded,
            onMemberRemoved: onMemberRemoved,
            onSubscriptionCountChanged: onSubscriptionCountChanged
        )
        return channel as? PusherPresenceChannel
    }

    private static func makeChannel(
        _ name: String,
        _ id: ChannelID,
        _ engine: ClientEngine,
        onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)?,
        onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)?,
        onSubscriptionCountChanged: (@Sendable (Int) -> Void)?
    ) -> PusherChannel {
        guard PusherChannelType.isPresenceChannel(name: name) else {
            return PusherChannel(
                name: name,
                id: id,
                engine: engine,
                onSubscriptionCountChanged: onSubscriptionCountChanged
            )
        }
        return PusherPresenceChannel(
            name: name,
            id: id,
            engine: engine,
            onMemberAdded: onMemberAdded,
            onMemberRemoved: onMemberRemoved,
            onSubscriptionCountChanged: onSubscriptionCountChanged
        )
    }

    /// Ends the subscription to a channel, in whatever state it is. After it has returned, on the callback queue, nothing
    /// is delivered to the channel any more: its callbacks are unbound, and its sequences end.
    public func unsubscribe(_ channelName: String) {
        let channel = engine.step { state, now in
            defer { state.machine.unsubscribe(channelName, now: now, into: &state.pending) }
            return state.channel(named: channelName)
        }
        channel?.finish()
    }

    /// Ends the subscriptions to all channels, as ``unsubscribe(_:)`` does.
    public func unsubscribeAll() {
        let channels = engine.step { state, now in
            defer { state.machine.unsubscribeAll(now: now, into: &state.pending) }
            return state.machine.wantedSubscriptions.compactMap { state.channels[$0.id] }
        }
        for channel in channels { channel.finish() }
    }

    /// The same as ``subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)``, with a label.
    @discardableResult
    public func subscribe(channelName: String) -> PusherChannel { subscribe(channelName) }

    // MARK: The user

    /// Signs the user in, now or as soon as there is a connection, and again after each loss: see
    /// ``PusherClientOptions/userAuthMethod``. Where the user is signed in already it does nothing.
    ///
    /// What goes wrong is reported to the delegate, and as `pusher:signin_error` on ``user``. To wait for the outcome, use
    /// ``signedIn()``; to be nobody again, ``signOut()``.
    public func signIn() {
        engine.step { state, now in state.machine.signIn(now: now, into: &state.pending) }
    }

    /// Signs nobody in any more: ``PusherUser/userId`` is nil, and no event comes to ``user``.
    ///
    /// The protocol has no message for this. For the server, the connection that stands stays that of the user until it
    /// ends: to sign in as somebody else, ``disconnect()`` and ``connect()`` in between.
    public func signOut() {
        engine.step { state, now in state.machine.signOut(now: now, into: &state.pending) }
    }

    // MARK: Events of all channels

    /// Calls back for every event on every channel, and for those that belong to none, on the callback queue.
    ///
    /// - Returns: An id for ``unbind(callbackId:)``.
    @preconcurrency @discardableResult
    public func bind(eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> String {
        engine.everyEvent.bind(nil, eventCallback)
    }

    /// Calls back for every event of that name, on whatever channel, on the callback queue.
    ///
    /// - Returns: An id for ``unbind(eventName:callbackId:)``.
    @preconcurrency @discardableResult
    public func bind(eventName: String, eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> String {
        engine.everyEvent.bind(eventName, eventCallback)
    }

    /// Ends the calls of one callback that was bound to every event.
    public func unbind(callbackId: String) { engine.everyEvent.unbind(nil, id: callbackId) }

    /// Ends the calls of one callback that was bound to a name.
    public func unbind(eventName: String, callbackId: String) { engine.everyEvent.unbind(eventName, id: callbackId) }

    /// Ends the calls of all callbacks that are bound to the client rather than to a channel. Sequences go on.
    public func unbindAll() { engine.everyEvent.unbindAll() }
}

extension Pusher: Hashable {
    /// Clients are equal where they are the same object.
    public static func == (left: Pusher, right: Pusher) -> Bool { left === right }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
