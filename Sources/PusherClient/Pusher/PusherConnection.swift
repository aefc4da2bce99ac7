public import Foundation

/// The connection of a ``Pusher``: its state, and what can be set while it is in use.
///
/// It does not keep the socket open when the `Pusher` is released. Most of it is PusherSwift's: new code has
/// ``Pusher/state``, ``Pusher/status``, ``Pusher/socketID`` and ``Pusher/channel(_:)``, and sets
/// ``PusherClientOptions/retryPolicy`` and ``PusherClientOptions/timeouts``.
public final class PusherConnection: Sendable {
    let engine: ClientEngine
    /// The app key.
    public var key: String { engine.read { $0.endpoint.key } }
    /// The server: that of the options, until ``Pusher/switchTo(endpoint:key:authMethod:userAuthMethod:)`` names
    /// another.
    public var endpoint: PusherEndpoint { engine.read { $0.endpoint.server } }
    /// The URL that is connected to. A server that demands TLS (close code 4000) is connected to over TLS afterwards.
    public var url: String { engine.read { $0.endpoint.url } }
    /// The options object that the client was made with. The client copied the values: setting one here changes nothing,
    /// except ``PusherClientOptions/authMethod`` and ``PusherClientOptions/userAuthMethod``.
    public let options: PusherClientOptions
    /// The channels that the application is subscribed to, or wants to be.
    public let channels: PusherChannels
    private let everyEvent: GlobalChannel

    init(engine: ClientEngine, options: PusherClientOptions) {
        self.engine = engine
        self.options = options
        channels = PusherChannels(engine: engine)
        everyEvent = GlobalChannel(engine: engine)
        engine.update { $0.connection = .init(value: self) }
    }

    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// What is bound to the client rather than to a channel: see ``Pusher/bind(eventCallback:)``. It is never nil; the
    /// type is PusherSwift's.
    public var globalChannel: GlobalChannel! { everyEvent }

    /// The delegate. It is not kept alive.
    public var delegate: (any PusherDelegate)? {
        get { engine.read { $0.delegate.value } }
        set { engine.update { $0.delegate = .init(value: newValue) } }
    }

    /// The state of the connection. It has changed by the time that `connect()` or `disconnect()` returns.
    public var connectionState: ConnectionState { engine.read { $0.machine.connectionState } }

    package var status: ConnectionStatus { engine.status }

    /// The id that the server gave the connection; nil while there is none.
    public var socketId: String? { engine.read { $0.machine.socketID } }

    /// What carries the connection; nil while there is none. See ``Pusher/transport``.
    public var transport: PusherTransport? {
        engine.read { $0.machine.connection.isConnected ? $0.machine.connection.statistics.transport : nil }
    }

    /// Attempts to reconnect since the client was last connected. ``connect()`` begins anew where nothing was under
    /// way.
    ///
    /// Where it is set, to something from 0 to a million, the waits and ``reconnectAttemptsMax`` go on from there.
    public var reconnectAttempts: Int {
        get { engine.read { $0.machine.connection.reconnectAttempts } }
        set { engine.update { $0.machine.setAttemptCounts(to: newValue) } }
    }

    /// The most attempts to reconnect that may fail one after the other; nil, the default, for no end. Each connection
    /// begins the count anew. Takes effect at the next loss.
    public var reconnectAttemptsMax: Int? {
        get { engine.read { $0.machine.configuration.maximumRetries } }
        set { engine.update { $0.machine.configuration.maximumRetries = newValue } }
    }

    /// The longest wait before an attempt, in seconds, whatever the retry policy says; nil for no bound but the
    /// policy's own. Default: 30, or nil where the options name another policy than the default one. Negative values
    /// are ignored. Takes effect at the next loss.
    public var maxReconnectGapInSeconds: Double? {
        get { engine.read { $0.machine.configuration.maximumRetryDelay?.timeInterval } }
        set {
            let delay = newValue.flatMap { Duration(timeInterval: $0) }
            guard delay != nil || newValue == nil else { return }
            engine.update { $0.machine.configuration.maximumRetryDelay = delay }
        }
    }

    /// The longest silence, in seconds, before the server is asked for a sign of life; the server may name a shorter
    /// one. Default: ``PusherClientOptions/activityTimeout``, or 120. Takes effect at the next connection.
    public var activityTimeoutInterval: TimeInterval {
        get { engine.read { $0.machine.configuration.activityTimeout.timeInterval } }
        set {
            guard let timeout = Duration(timeInterval: newValue), timeout > .zero else { return }
            engine.update { $0.machine.configuration.activityTimeout = timeout }
        }
    }

    /// How long the server may take to answer a ping, in seconds. Default: what
    /// ``PusherTimeouts/pong`` says, 30. Takes effect at the next connection.
    public var pongResponseTimeoutInterval: TimeInterval {
        get { engine.read { $0.machine.configuration.timeouts.pong.timeInterval } }
        set {
            guard let timeout = Duration(timeInterval: newValue), timeout > .zero else { return }
            engine.update { $0.machine.configuration.timeouts.pong = timeout }
        }
    }

    /// Says who subscribes to a presence channel, where ``AuthMethod/inline(secret:)`` signs for it. Called on a
    /// background queue, for each authorization. Without it the socket id stands in for a user id.
    @preconcurrency public var userDataFetcher: (@Sendable () -> PusherPresenceChannelMember)? {
        get { engine.read { $0.userDataFetcher } }
        set {
            // The old one is released outside the lock: what it owns may call back.
            _ = engine.update { state in
                // Nobody would let go of it any more.
                guard !state.machine.isReleased else { return newValue }
                defer { state.userDataFetcher = newValue }
                return state.userDataFetcher
            }
        }
    }

    /// Connects. See ``Pusher/connect()``.
    public func connect() {
        engine.step { state, now in state.machine.connect(now: now, into: &state.pending) }
    }

    /// Disconnects. See ``Pusher/disconnect()``.
    public func disconnect() {
        engine.step { state, now in state.machine.disconnect(now: now, into: &state.pending) }
    }
}

extension PusherConnection: Hashable {
    /// Connections are equal where they are the same object.
    public static func == (left: PusherConnection, right: PusherConnection) -> Bool { left === right }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension Duration {
    /// Nil where the seconds are negative or no number. Very long times are cut to a hundred years.
    init?(timeInterval seconds: TimeInterval) {
        guard seconds >= 0 else { return nil }
        self = .seconds(min(seconds, 3_155_760_000))
    }

    var timeInterval: TimeInterval {
        TimeInterval(components.seconds) + TimeInterval(components.attoseconds) / 1e18
    }
}
