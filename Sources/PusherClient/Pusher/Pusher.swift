import Logging
public import NIOCore
import NIOPosix
import PusherProtocol
import RealtimeHTTP
import RealtimeNetworking

/// A client of a Pusher Channels server.
///
/// ```swift
/// let pusher = Pusher(key: "app-key", options: PusherClientOptions(cluster: "eu"))
/// let channel = pusher.subscribe("orders")
/// let orders = channel.values(named: "created", as: Order.self)
/// try await pusher.connected()
/// for await order in orders { show(order) }
/// ```
///
/// Keep a reference to the client: it closes the connection when the last reference is released. You can use all
/// members from any thread, and no call blocks. Callbacks run on the main queue, unless you set another
/// ``PusherClientOptions/callbackQueue``.
public final class Pusher: Sendable {
    /// The connection: state, socket id, and settings that can change.
    public let connection: PusherConnection
    /// The user who signs in, with their own events and the users whom they watch. The object exists even before a
    /// sign-in. See ``signIn()``.
    public let user: PusherUser
    package var engine: ClientEngine { connection.engine }

    /// Creates a client. The client does not connect yet.
    ///
    /// The client reports an invalid key or option when you call ``connect()`` or ``connected(timeout:)``.
    ///
    /// - Parameters:
    ///   - key: The app key.
    ///   - options: The options of the client.
    public convenience init(key: String, options: PusherClientOptions = PusherClientOptions()) {
        self.init(key: key, options: options, eventLoopGroup: MultiThreadedEventLoopGroup.singleton)
    }

    /// Creates a client that runs on your own threads. The client does not connect yet.
    ///
    /// - Parameters:
    ///   - key: The app key.
    ///   - options: The options of the client.
    ///   - eventLoopGroup: A `MultiThreadedEventLoopGroup`, or another group that can open sockets. The client uses one
    ///     event loop of the group for all its connections. Shut the group down only after the client is released. A
    ///     client in virtual time does not use the group.
    public convenience init(
        key: String,
        options: PusherClientOptions = PusherClientOptions(),
        eventLoopGroup: any EventLoopGroup
    ) {
        // The client uses a copy of the options, because other code may change the original object during this
        // initializer.
        let settings = options.copyForClient()
        if let environment = settings.makeEnvironment?(settings) {
            self.init(key: key, options: options, settings: settings, environment: environment)
            return
        }
        let dialer = Dialer(tlsContexts: TLSContextSource(settings.tls), proxies: ProxyRules(settings.proxy))
        let eventLoop = eventLoopGroup.next()
        let requester = PooledHTTPRequester(
            dialer: dialer,
            on: eventLoop,
            // The user's authorization needs one more connection. An HTTP transport needs three more: two that receive
            // during a handover, and one that sends.
            maximumConnections: min(max(settings.limits.authorizationsAtOnce, 1), .max - 4) + 4
        )
        let transport = TransportChooser.transport(
            for: settings,
            webSocket: WebSocketTransport(settings, dialer: dialer),
            streamer: requester
        )
        self.init(
            key: key,
            options: options,
            settings: settings,
            environment: .init(
                eventLoop: eventLoop,
                transport: transport,
                requester: requester,
                proxies: dialer.proxies
            )
        )
    }

    /// Creates a client in the given environment, for tests.
    package convenience init(key: String, options: PusherClientOptions, environment: ClientEngine.Environment) {
        self.init(key: key, options: options, settings: options.copyForClient(), environment: environment)
    }

    private init(
        key: String,
        options: PusherClientOptions,
        settings: PusherClientOptions,
        environment: ClientEngine.Environment
    ) {
        let engine = ClientEngine(
            endpoint: Endpoint(key: key, options: settings),
            options: settings,
            environment: environment
        )
        connection = PusherConnection(engine: engine, options: options)
        user = PusherUser(engine: engine)
    }

    deinit {
        let isInUse = engine.read { state in
            switch state.machine.connectionState {
            case .connecting, .connected, .reconnecting: !state.channels.isEmpty
            case .disconnecting, .disconnected: false
            }
        }
        if isInUse {
            engine.logger.warning(
                "A Pusher was released while it had channels, so its connection is closed. Keep a reference to it, or disconnect."
            )
        }
        engine.release()
    }

    /// The delegate. The client does not retain it. New code uses ``statuses`` and ``errors``.
    public var delegate: (any PusherDelegate)? {
        get { connection.delegate }
        set { connection.delegate = newValue }
    }

    // MARK: The state

    /// The state of the connection. ``status`` adds reasons and times, and ``statuses`` reports every change.
    public var state: ConnectionState { connection.connectionState }

    /// The current status of the connection, with reasons and times.
    public var status: ConnectionStatus { engine.status }

    /// The id that the server gave the connection; nil if there is no connection.
    ///
    /// Send the id to your backend in the header field `X-Socket-ID`. The backend can then exclude this connection when
    /// it publishes an event for the request:
    ///
    /// ```swift
    /// request.setValue(pusher.socketID, forHTTPHeaderField: "X-Socket-ID")
    /// ```
    public var socketID: String? { connection.socketId }

    /// The transport of the current connection, such as ``PusherTransport/webSocket``; nil if there is no connection.
    ///
    /// ``PusherStatistics/Connections/unusedTransports`` contains the transports that the client could not use, with
    /// the reasons.
    public var transport: PusherTransport? { connection.transport }

    /// Returns the channel of that name; nil if the app is not subscribed to it.
    ///
    /// To subscribe to a channel, use ``subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)``.
    public func channel(_ name: String) -> PusherChannel? { connection.channels.find(name: name) }

    /// The channels that your code has subscribed to, and not unsubscribed from, in the order of their subscriptions.
    ///
    /// The list does not depend on a connection. ``PusherChannel/isSubscribed`` says whether the server has confirmed a
    /// subscription.
    public var channels: [PusherChannel] {
        engine.read { state in state.machine.wantedSubscriptions.compactMap { state.channels[$0.id] } }
    }

    // MARK: Connecting

    /// Connects, and stays connected until ``disconnect()``. The client reconnects after losses, and subscribes to its
    /// channels again.
    ///
    /// The method returns at once. If the options are valid, ``state`` is then ``ConnectionState/connecting`` or
    /// ``ConnectionState/connected``. While the client is connected or connecting, the method does nothing. While the
    /// client waits before another attempt, it starts that attempt now.
    ///
    /// You need not call the method after a loss or a failed attempt. If you do so within 1 s of a failure for the fourth
    /// time in a row, the client logs a warning, and from then on it keeps its wait before the attempt. A client that has
    /// stopped, or that you have disconnected, waits 1 s. An attempt that ``disconnect()`` stops counts as a failure. A
    /// connection of at least 1 s ends this limit, and so does a call that comes later after the last failure.
    public func connect() { connection.connect() }

    /// Disconnects, in any state. Returns at once, and cancels all attempts.
    ///
    /// After the method has returned on a callback queue, no callback for an event of the connection begins there, even
    /// after another ``connect()``. Sequences keep the events that they have. Changes of the state, and errors, are still
    /// reported.
    ///
    /// The client keeps channels and bindings, and subscribes again after the next ``connect()``.
    public func disconnect() { connection.disconnect() }

    // MARK: The user

    /// Signs the user in, now or as soon as there is a connection, and again after each loss: see
    /// ``PusherClientOptions/userAuthMethod``. If the user is already signed in, the method only repeats a failed
    /// subscription to the user's own channel.
    ///
    /// If the server does not answer, for example because its rate limit made it drop the sign-in, the client tries again
    /// as ``PusherClientOptions/requestRetryPolicy`` decides, and on the next connection.
    ///
    /// The client reports failures to the delegate, and as `pusher:signin_error` on ``user``. To wait for the outcome,
    /// use ``signedIn(timeout:)``. To sign out, use ``signOut()``.
    public func signIn() {
        engine.step { state, now in state.machine.signIn(now: now, into: &state.pending) }
    }

    /// Signs the user out. ``PusherUser/userId`` becomes nil, and ``user`` gets no more events. After the method has
    /// returned on a callback queue, no callback for an event of the user begins there.
    ///
    /// The protocol has no message for signing out. For the server, the current connection belongs to the user until
    /// the connection is closed. To sign in as another user, call ``disconnect()`` and ``connect()`` in between.
    public func signOut() {
        engine.step { state, now in
            state.machine.signOut(now: now, into: &state.pending)
            engine.beginEpoch(.signOut, &state)
        }
    }
}

extension Pusher: Hashable {
    /// Returns whether both values are the same client object.
    public static func == (left: Pusher, right: Pusher) -> Bool { left === right }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
