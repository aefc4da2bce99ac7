/// The time limits of connections, subscriptions, authorizations and sign-ins.
public struct PusherTimeouts: Hashable, Sendable {
    /// The longest time of an attempt to connect: name resolution, TCP, TLS, the upgrade and the server's greeting
    /// together. Default: 15 s.
    public var connectionAttempt: Duration = .seconds(15)
    /// How long the client tries to connect before the status becomes ``ConnectionStatus/unavailable(reason:)``.
    /// Default: 10 s.
    public var unavailable: Duration = .seconds(10)
    /// How long the client waits for the answer to a ping before it drops the connection. Default: 30 s.
    public var pong: Duration = .seconds(30)
    /// How long the client waits for the answer to a subscription, including that to the user's own channel. Default:
    /// 10 s.
    public var subscription: Duration = .seconds(10)
    /// How long each call of an authorizer may take. Default: 10 s.
    public var authorization: Duration = .seconds(10)
    /// How long the client waits for the answer to a sign-in. Default: 10 s.
    public var signIn: Duration = .seconds(10)
    /// How long the client waits for the server's close frame after `disconnect()`. Default: 2 s.
    public var closing: Duration = .seconds(2)
    /// How long a connection must last before the retry policy's count starts again. With zero, each connection
    /// restarts it. Default: 10 s.
    public var backOffReset: Duration = .seconds(10)

    /// Creates the defaults.
    public init() {}
}

extension PusherTimeouts {
    /// So long that nobody waits for it, and short enough to be counted in nanoseconds.
    private static var longest: Duration { .seconds(100 * 365 * 86_400) }

    /// The same times, limited to values that can be counted.
    package var clamped: Self {
        var timeouts = self
        let paths = [
            \Self.connectionAttempt, \.unavailable, \.pong, \.subscription, \.authorization, \.signIn, \.closing,
            \.backOffReset,
        ]
        for path in paths {
            timeouts[keyPath: path] = min(timeouts[keyPath: path], Self.longest)
        }
        return timeouts
    }
}
