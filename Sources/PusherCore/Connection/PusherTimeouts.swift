/// How long things may take.
public struct PusherTimeouts: Hashable, Sendable {
    /// How long an attempt to connect may take: name resolution, TCP, TLS, the upgrade and the server's greeting
    /// together. Default: 15 s.
    public var connectionAttempt: Duration = .seconds(15)
    /// How long the client tries to connect before the status becomes ``ConnectionStatus/unavailable(reason:)``.
    /// Default: 10 s.
    public var unavailable: Duration = .seconds(10)
    /// How long the client waits for the answer to a ping before it drops the connection. Default: 30 s.
    public var pong: Duration = .seconds(30)
    /// How long the client waits for the answer to a subscription, also to that of the user's own channel. Default:
    /// 10 s.
    public var subscription: Duration = .seconds(10)
    /// How long an authorizer may take, each time it is asked. Default: 10 s.
    public var authorization: Duration = .seconds(10)
    /// How long the client waits for the answer to a sign-in. Default: 10 s.
    public var signIn: Duration = .seconds(10)
    /// How long the client waits for the server's part of the closing handshake, after `disconnect()`. Default: 2 s.
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

    /// The same times, those cut that cannot be counted.
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
