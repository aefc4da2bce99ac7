public import Foundation

/// The connection of a ``Pusher``: its state, and settings that can change while it is in use.
///
/// A reference to the connection does not keep the socket open when the `Pusher` is released. Most members are for
/// PusherSwift code. New code uses ``Pusher/state``, ``Pusher/status``, ``Pusher/socketID`` and ``Pusher/channel(_:)``,
/// and sets ``PusherClientOptions/retryPolicy`` and ``PusherClientOptions/timeouts``.
public final class PusherConnection: Sendable {
    let engine: ClientEngine
    /// The app key.
    public var key: String { engine.read { $0.endpoint.key } }
    /// The server in the options, or in the last call of ``Pusher/switchTo(endpoint:key:authMethod:userAuthMethod:)``.
    package var endpoint: PusherEndpoint { engine.read { $0.endpoint.server } }
    /// The URL of the server in the options, or in the last call of
    /// ``Pusher/switchTo(endpoint:key:authMethod:userAuthMethod:)``. If the server demands TLS (close code 4000), the
    /// client connects over TLS, but this property does not change.
    public var url: String { engine.read { $0.endpoint.url } }
    /// The options object from which your code made the client. The client has copied the values, so a change has no
    /// effect, except for ``PusherClientOptions/authMethod`` and ``PusherClientOptions/userAuthMethod``.
    public let options: PusherClientOptions
    /// The channels that the app has subscribed to, whether or not the server has confirmed them.
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
    /// The callbacks that are bound to the client, and not to a channel: see ``Pusher/bind(eventCallback:)``. The
    /// property is never nil. It is an optional as in PusherSwift.
    public var globalChannel: GlobalChannel! { everyEvent }

    /// The delegate. The client does not retain it.
    public var delegate: (any PusherDelegate)? {
        get { engine.read { $0.delegate.value } }
        set { engine.update { $0.delegate = .init(value: newValue) } }
    }

    /// The state of the connection. The state changes before `connect()` or `disconnect()` returns.
    public var connectionState: ConnectionState { engine.read { $0.machine.connectionState } }

    package var status: ConnectionStatus { engine.status }

    /// The id that the server gave the connection; nil if there is no connection.
    public var socketId: String? { engine.read { $0.machine.socketID } }

    /// The transport of the current connection; nil if there is no connection. See ``Pusher/transport``.
    public var transport: PusherTransport? {
        engine.read { $0.machine.connection.isConnected ? $0.machine.connection.statistics.transport : nil }
    }

    /// The number of attempts to reconnect since the client was last connected. ``connect()`` resets the number, unless
    /// the client is connected, is connecting, or waits before an attempt.
    ///
    /// You can set the property to a number from 0 to a million. The waits and ``reconnectAttemptsMax`` then continue
    /// from this number.
    public var reconnectAttempts: Int {
        get { engine.read { $0.machine.connection.reconnectAttempts } }
        set { engine.update { $0.machine.setAttemptCounts(to: newValue) } }
    }

    /// The maximum number of attempts to reconnect that may fail one after the other. Nil, the default, means no limit.
    /// Each connection resets the count. Takes effect at the next loss or failed attempt.
    public var reconnectAttemptsMax: Int? {
        get { engine.read { $0.machine.configuration.maximumRetries } }
        set { engine.update { $0.machine.configuration.maximumRetries = newValue } }
    }

    /// The longest wait before an attempt, in seconds, even if the retry policy returns a longer wait. Nil means that
    /// only the policy limits the wait. Default: 30, or nil if the options set a retry policy. The client ignores
    /// negative values. Takes effect at the next loss or failed attempt.
    public var maxReconnectGapInSeconds: Double? {
        get { engine.read { $0.machine.configuration.maximumRetryDelay?.timeInterval } }
        set {
            let delay = newValue.flatMap { Duration(timeInterval: $0) }
            guard delay != nil || newValue == nil else { return }
            engine.update { $0.machine.configuration.maximumRetryDelay = delay }
        }
    }

    /// The longest silence, in seconds, before the client pings the server. The server may announce a shorter time.
    /// Default: ``PusherClientOptions/activityTimeout``, or 120. Takes effect at the next connection.
    public var activityTimeoutInterval: TimeInterval {
        get { engine.read { $0.machine.configuration.activityTimeout.timeInterval } }
        set {
            guard let timeout = Duration(timeInterval: newValue), timeout > .zero else { return }
            engine.update { $0.machine.configuration.activityTimeout = timeout }
        }
    }

    /// The time limit for the server's answer to a ping, in seconds. Default: the value of ``PusherTimeouts/pong``,
    /// which is 30 by default. Takes effect at the next connection.
    public var pongResponseTimeoutInterval: TimeInterval {
        get { engine.read { $0.machine.configuration.timeouts.pong.timeInterval } }
        set {
            guard let timeout = Duration(timeInterval: newValue), timeout > .zero else { return }
            engine.update { $0.machine.configuration.timeouts.pong = timeout }
        }
    }

    /// A closure that returns the user for presence channels that ``AuthMethod/inline(secret:)`` signs. The client
    /// calls it on a background queue, for each authorization of a presence channel. If it is nil, the client uses the
    /// socket id as the user id.
    @preconcurrency public var userDataFetcher: (@Sendable () -> PusherPresenceChannelMember)? {
        get { engine.read { $0.userDataFetcher } }
        set {
            // Release the old closure outside the lock, because releasing it may call the client.
            _ = engine.update { state in
                // After the release of the client, store no new closure, because the client would never release it.
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
        engine.stepToNextEpoch { state, now in state.machine.disconnect(now: now, into: &state.pending) }
    }
}

extension PusherConnection: Hashable {
    /// Returns whether both values are the same connection object.
    public static func == (left: PusherConnection, right: PusherConnection) -> Bool { left === right }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension Duration {
    /// Returns nil if the seconds are negative or not a number. Times longer than a hundred years become a hundred
    /// years.
    init?(timeInterval seconds: TimeInterval) {
        guard seconds >= 0 else { return nil }
        self = .seconds(min(seconds, 3_155_760_000))
    }

    var timeInterval: TimeInterval {
        TimeInterval(components.seconds) + TimeInterval(components.attoseconds) / 1e18
    }
}
