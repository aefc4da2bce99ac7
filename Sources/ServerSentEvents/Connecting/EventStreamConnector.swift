public import NIOCore
public import NIOPosix
package import RealtimeHTTP
public import RealtimeNetworking

/// A connector that makes the connections of event streams.
///
/// Each ``EventStream`` has its own connector, unless you pass a connector. Share a connector between many streams to
/// servers with TLS, because each new connector reads the trusted certificates again.
public final class EventStreamConnector: Sendable {
    let streamer: any HTTPStreamer
    let eventLoopGroup: any EventLoopGroup
    /// The clock; `nil` for the computer's clock.
    let clock: (@Sendable () -> ContinuousClock.Instant)?

    /// Creates a connector, without connecting.
    ///
    /// - Parameters:
    ///   - tls: The certificates and keys (pins) that the client trusts, and the client certificate. Default: the
    ///     system's trusted certificates, without pins.
    ///   - proxy: The proxy that connections go through. Default: the proxy that the environment names.
    ///   - connectTimeout: The time limit for TCP and TLS together. Default: 10 seconds.
    ///   - eventLoopGroup: The threads of the connections: a `MultiThreadedEventLoopGroup`, or another group that can
    ///     open sockets. Shut the group down only after all streams are released. Default: the process's shared group.
    public convenience init(
        tls: TLSOptions = TLSOptions(),
        proxy: HTTPProxy = .environment,
        connectTimeout: Duration = .seconds(10),
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) {
        self.init(
            PooledHTTPRequester(
                tls: TLSContextSource(tls),
                proxies: ProxyRules(proxy),
                eventLoopGroup: eventLoopGroup,
                connectTimeout: connectTimeout,
                // A new connection is safer, because the server may be about to close an idle connection.
                idleTimeout: .zero
            ),
            eventLoopGroup: eventLoopGroup
        )
    }

    package init(
        _ streamer: any HTTPStreamer,
        eventLoopGroup: any EventLoopGroup,
        clock: (@Sendable () -> ContinuousClock.Instant)? = nil
    ) {
        self.streamer = streamer
        self.eventLoopGroup = eventLoopGroup
        self.clock = clock
    }
}
