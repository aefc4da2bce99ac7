import Logging
import NIOCore
import NIOPosix

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
        self.init(key: key, options: options, environment: .init(eventLoop: eventLoop, transport: transport))
    }

    /// Makes a client in an environment of its own: for tests.
    package init(key: String, options: PusherClientOptions, environment: ClientEngine.Environment) {
        let endpoint = Endpoint(key: key, options: options)
        let engine = ClientEngine(
            configuration: CoreConfiguration(endpoint, options: options),
            options: options,
            environment: environment
        )
        connection = PusherConnection(engine: engine, key: key, url: endpoint.url, options: options)
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
    /// For a channel that is subscribed already, that channel is returned, and subscribed again if it had failed. A name
    /// that cannot be subscribed is reported to the delegate, as `pusher:subscription_error`, and by
    /// ``PusherChannel/subscribed()``.
    ///
    /// - Parameters:
    ///   - channelName: The channel.
    ///   - onSubscriptionCountChanged: Called with each new number of subscriptions.
    /// - Returns: The channel.
    @preconcurrency @discardableResult
    public func subscribe(
        _ channelName: String,
        onSubscriptionCountChanged: (@Sendable (Int) -> Void)? = nil
    ) -> PusherChannel {
        let engine = engine
        let (channel, isNew) = engine.step { state, now in
            let result = state.machine.subscribe(channelName, now: now, into: &state.pending)
            if let channel = state.channels[result.id] { return (channel, false) }
            let channel = PusherChannel(
                name: channelName,
                id: result.id,
                engine: engine,
                onSubscriptionCountChanged: onSubscriptionCountChanged
            )
            state.channels[result.id] = channel
            return (channel, true)
        }
        if !isNew, let onSubscriptionCountChanged { channel.onSubscriptionCountChanged = onSubscriptionCountChanged }
        return channel
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

    /// The same as ``subscribe(_:onSubscriptionCountChanged:)``, with a label.
    @discardableResult
    public func subscribe(channelName: String) -> PusherChannel { subscribe(channelName) }

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
