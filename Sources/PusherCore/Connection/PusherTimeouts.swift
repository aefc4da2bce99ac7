/// The time limits of connections, subscriptions, authorizations and sign-ins.
public struct PusherTimeouts: Hashable, Sendable {
    /// The time limit of an attempt to connect: name resolution, TCP, TLS, the upgrade and the server's greeting
    /// together. Default: 15 s.
    public var connectionAttempt: Duration = .seconds(15)
    /// The time without success after which the status becomes ``ConnectionStatus/unavailable(reason:)``. Default: 10
    /// s.
    public var unavailable: Duration = .seconds(10)
    /// The time limit for the answer to a ping. If the server sends nothing within this time, the client drops the
    /// connection. Default: 30 s.
    public var pong: Duration = .seconds(30)
    /// The time limit for the answer to a subscription, including the subscription to the user's own channel. Default:
    /// 10 s.
    public var subscription: Duration = .seconds(10)
    /// The time limit for each try of an authorization, for example for one request to an endpoint. Default: 10 s.
    public var authorization: Duration = .seconds(10)
    /// The time limit for the answer to a sign-in. Default: 10 s.
    public var signIn: Duration = .seconds(10)
    /// The time limit for the server's close frame after `disconnect()`. Default: 2 s.
    public var closing: Duration = .seconds(2)
    /// The duration of a connection after which the retry policy's count starts again. If the duration is zero, the
    /// count starts again after each connection. Default: 10 s.
    public var backOffReset: Duration = .seconds(10)

    /// Creates the default time limits.
    public init() {}
}

extension PusherTimeouts {
    /// The maximum of each time limit. In nanoseconds, this value fits into 64 bits.
    private static var longest: Duration { .seconds(100 * 365 * 86_400) }

    /// The time limits, reduced to values whose nanoseconds fit into 64 bits.
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
