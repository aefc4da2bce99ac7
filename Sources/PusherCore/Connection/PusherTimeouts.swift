/// How long things may take.
public struct PusherTimeouts: Hashable, Sendable {
    /// For an attempt to connect: name resolution, TCP, TLS, the upgrade and the server's greeting together.
    /// Default: 15 s.
    public var connectionAttempt: Duration
    /// Of trying, before the status becomes ``ConnectionStatus/unavailable(reason:)``. Default: 10 s.
    public var unavailable: Duration
    /// For the answer to a ping, before the connection is given up. Default: 30 s.
    public var pong: Duration
    /// For the answer to a subscription, also that to the user's own channel. Default: 10 s.
    public var subscription: Duration
    /// For the answer of an authorizer, each time it is asked. Default: 10 s.
    public var authorization: Duration
    /// For the answer to a sign-in. Default: 10 s.
    public var signIn: Duration
    /// For the server's part of the closing handshake, after `disconnect()`. Default: 2 s.
    public var closing: Duration
    /// That a connection must have held, for the back-off to start anew after it; zero for any. Default: 10 s.
    public var backOffReset: Duration

    /// Makes timeouts.
    public init(
        connectionAttempt: Duration = .seconds(15),
        unavailable: Duration = .seconds(10),
        pong: Duration = .seconds(30),
        subscription: Duration = .seconds(10),
        authorization: Duration = .seconds(10),
        signIn: Duration = .seconds(10),
        closing: Duration = .seconds(2),
        backOffReset: Duration = .seconds(10)
    ) {
        self.connectionAttempt = connectionAttempt
        self.unavailable = unavailable
        self.pong = pong
        self.subscription = subscription
        self.authorization = authorization
        self.signIn = signIn
        self.closing = closing
        self.backOffReset = backOffReset
    }
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
