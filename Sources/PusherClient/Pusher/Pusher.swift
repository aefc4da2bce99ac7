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
/// Keep a reference: when the last reference to it is released, the connection is closed. You can use all of it from
/// any thread, and no call blocks. Callbacks run on the main queue unless the options say otherwise.
public final class Pusher: Sendable {
    /// The connection: state, socket id, and settings that can change.
    public let connection: PusherConnection
    /// The user who is signed in, or will be: their own events, and the users whom they watch. See ``signIn()``.
    public let user: PusherUser
    package var engine: ClientEngine { connection.engine }

    /// Makes a client. It does not connect yet.
    ///
    /// A key or an option that cannot be used is reported when ``connect()`` or ``connected(timeout:)`` is called.
    ///
    /// - Parameters:
    ///   - key: The app key.
    ///   - options: How to connect and to behave.
    public convenience init(key: String, options: PusherClientOptions = PusherClientOptions()) {
        self.init(key: key, options: options, eventLoopGroup: MultiThreadedEventLoopGroup.singleton)
    }

    /// Creates a client that runs on threads of your own. It does not connect yet.
    ///
    /// - Parameters:
    ///   - key: The app key.
    ///   - options: How to connect and to behave.
    ///   - eventLoopGroup: A `MultiThreadedEventLoopGroup`, or another group that can open sockets. The client uses one
    ///     of its event loops for the connection, and the whole group for authorization requests. Shut it down only
    ///     after the client is released.
    public convenience init(
        key: String,
        options: PusherClientOptions = PusherClientOptions(),
        eventLoopGroup: any EventLoopGroup
    ) {
        // All that follows has the values of one moment: other code may have the object too, and set its properties.
        let settings = options.copyForClient()
        let proxies = ProxyRules(settings.proxy)
        let eventLoop = eventLoopGroup.next()
        let requester = AsyncHTTPRequester(
            tls: settings.tls,
            proxies: proxies,
            eventLoopGroup: eventLoopGroup,
            // One more, for the user's; and for an HTTP transport's: two that receive, where one takes over, and one that sends.
            maximumConnections: min(max(settings.limits.authorizationsAtOnce, 1), .max - 4) + 4
        )
        let transport = TransportChooser.transport(
            for: settings,
            webSocket: WebSocketTransport(settings, proxies: proxies),
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
                proxies: proxies
            )
        )
    }

    /// Makes a client in an environment of its own: for tests.
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
            endpoint: Endpoint(key: key, options: settings, proxies: environment.proxies),
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
                "A Pusher was released while it had channels, so its connection ends. Keep a reference to it, or disconnect."
            )
        }
        engine.release()
    }

    /// The delegate. The client does not retain it. New code has ``statuses`` and ``errors``.
    public var delegate: (any PusherDelegate)? {
        get { connection.delegate }
        set { connection.delegate = newValue }
    }

    // MARK: The state

    /// The state of the connection in one word. ``status`` adds reasons and times, and ``statuses`` reports every
    /// change.
    public var state: ConnectionState { connection.connectionState }

    /// The current status of the connection, with reasons and times.
    public var status: ConnectionStatus { engine.status }

    /// The id that the server gave the connection; nil while there is none.
    ///
    /// Send it to your backend in the header field `X-Socket-ID`. The backend can then exclude this connection when it
    /// publishes an event for the request:
    ///
    /// ```swift
    /// request.setValue(pusher.socketID, forHTTPHeaderField: "X-Socket-ID")
    /// ```
    public var socketID: String? { connection.socketId }

    /// The transport of the current connection, such as ``PusherTransport/webSocket``; nil if there is no connection.
    ///
    /// ``PusherStatistics/Connections/unusedTransports`` has the reasons against the others.
    public var transport: PusherTransport? { connection.transport }

    /// The channel of that name; nil if the app is not subscribed to it.
    ///
    /// To subscribe to it, use ``subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)``.
    public func channel(_ name: String) -> PusherChannel? { connection.channels.find(name: name) }

    /// The channels that your code has subscribed to, and not unsubscribed from, in the order of their subscriptions.
    ///
    /// They stay without a connection. ``PusherChannel/isSubscribed`` says whether the server has confirmed one.
    public var channels: [PusherChannel] {
        engine.read { state in state.machine.wantedSubscriptions.compactMap { state.channels[$0.id] } }
    }

    // MARK: Connecting

    /// Connects, and stays connected until ``disconnect()``. The client reconnects after losses, and subscribes to its
    /// channels again.
    ///
    /// Returns at once. The state is then ``ConnectionState/connecting``, unless the options cannot be used. While
    /// connected or connecting, it does nothing. While the client waits before another attempt, it starts that attempt
    /// now.
    public func connect() { connection.connect() }

    /// Disconnects, in any state. Returns at once, and ends all attempts.
    ///
    /// The client keeps channels and bindings, and subscribes again after the next ``connect()``.
    public func disconnect() { connection.disconnect() }

    // MARK: The user

    /// Signs the user in, now or as soon as there is a connection, and again after each loss: see
    /// ``PusherClientOptions/userAuthMethod``. If the user is signed in already, it does nothing.
    ///
    /// If the server's rate limit drops the sign-in, it times out: the client does not repeat it until you call this again,
    /// or until the next connection.
    ///
    /// Failures are reported to the delegate, and as `pusher:signin_error` on ``user``. To wait for the outcome, use
    /// ``signedIn(timeout:)``. To sign out, use ``signOut()``.
    public func signIn() {
        engine.step { state, now in state.machine.signIn(now: now, into: &state.pending) }
    }

    /// Signs the user out. ``PusherUser/userId`` becomes nil, and ``user`` gets no more events.
    ///
    /// The protocol has no message for signing out. For the server, the current connection belongs to the user until it
    /// ends. To sign in as another user, call ``disconnect()`` and ``connect()`` in between.
    public func signOut() {
        engine.step { state, now in state.machine.signOut(now: now, into: &state.pending) }
    }
}

extension Pusher: Hashable {
    /// Clients are equal if they are the same object.
    public static func == (left: Pusher, right: Pusher) -> Bool { left === right }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
