import Logging
public import NIOCore
import NIOPosix
import PusherProtocol
import RealtimeHTTP

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
/// Keep it: when the last reference to it goes, the connection is closed. All of it may be used from any thread, and no
/// call blocks. Callbacks run on the main queue unless the options say otherwise.
public final class Pusher: Sendable {
    /// The connection: state, socket id, and settings that can change.
    public let connection: PusherConnection
    /// The user who is signed in, or will be: their own events, and those whom they watch. See ``signIn()``.
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
    ///   - eventLoopGroup: A group of NIOPosix. The client takes one of its event loops for the connection, and the group for
    ///     authorization requests. Shut it down only after the client was released.
    public convenience init(
        key: String,
        options: PusherClientOptions = PusherClientOptions(),
        eventLoopGroup: any EventLoopGroup
    ) {
        let proxies = ProxyRules(options.proxy)
        let eventLoop = eventLoopGroup.next()
        let requester = AsyncHTTPRequester(
            tls: options.tls,
            proxies: proxies,
            eventLoopGroup: eventLoopGroup,
            // One more, for the user's; and for an HTTP transport's: two that receive, where one takes over, and one that sends.
            maximumConnections: min(max(options.limits.authorizationsAtOnce, 1), .max - 4) + 4
        )
        let transport = TransportChooser.transport(
            for: options,
            webSocket: WebSocketTransport(options, proxies: proxies),
            streamer: requester
        )
        self.init(
            key: key,
            options: options,
            environment: .init(
                eventLoop: eventLoop,
                transport: transport,
                requester: requester,
                proxies: proxies
            )
        )
    }

    /// Makes a client in an environment of its own: for tests.
    package init(key: String, options: PusherClientOptions, environment: ClientEngine.Environment) {
        let settings = options.copyForClient()
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
                "A Pusher was released while it had channels; its connection ends. Keep a reference to it, or disconnect."
            )
        }
        engine.release()
    }

    /// The delegate. It is not kept alive. New code has ``statuses`` and ``errors``.
    public var delegate: (any PusherDelegate)? {
        get { connection.delegate }
        set { connection.delegate = newValue }
    }

    // MARK: The state

    /// The state of the connection in one word. ``status`` has reasons and times, and ``statuses`` tells every change.
    public var state: ConnectionState { connection.connectionState }

    /// What the connection does right now, with reasons and times.
    public var status: ConnectionStatus { engine.status }

    /// The id that the server gave the connection; nil while there is none.
    ///
    /// Send it to your backend in the header field `X-Socket-ID`, and the backend can leave this connection out when it
    /// publishes what the request brings about:
    ///
    /// ```swift
    /// request.setValue(pusher.socketID, forHTTPHeaderField: "X-Socket-ID")
    /// ```
    public var socketID: String? { connection.socketId }

    /// What carries the connection, such as ``PusherTransport/webSocket``; nil while there is none.
    ///
    /// ``PusherStatistics/Connections/unusedTransports`` says why others that ``PusherClientOptions/transports`` has do not.
    public var transport: PusherTransport? { connection.transport }

    /// The channel of that name; nil if it is not subscribed to.
    ///
    /// To subscribe to it, use ``subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)``.
    public func channel(_ name: String) -> PusherChannel? { connection.channels.find(name: name) }

    // MARK: Connecting

    /// Connects, and stays connected until ``disconnect()``: lost connections are made again, and their channels
    /// subscribed again.
    ///
    /// Returns at once, when the state is ``ConnectionState/connecting``, unless the options cannot be used. While
    /// connected or connecting it does nothing; while the client waits before another attempt, that attempt is made
    /// now.
    public func connect() { connection.connect() }

    /// Disconnects, in whatever state the client is. Returns at once; nothing is tried any more.
    ///
    /// Channels and bindings stay, and are subscribed again at the next ``connect()``.
    public func disconnect() { connection.disconnect() }

    // MARK: The user

    /// Signs the user in, now or as soon as there is a connection, and again after each loss: see
    /// ``PusherClientOptions/userAuthMethod``. Where the user is signed in already it does nothing.
    ///
    /// If the server's rate limit drops the sign-in, it times out: the client does not repeat it until you call this again,
    /// or until the next connection.
    ///
    /// What goes wrong is reported to the delegate, and as `pusher:signin_error` on ``user``. To wait for the outcome,
    /// use ``signedIn(timeout:)``; to be nobody again, ``signOut()``.
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
}

extension Pusher: Hashable {
    /// Clients are equal where they are the same object.
    public static func == (left: Pusher, right: Pusher) -> Bool { left === right }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
