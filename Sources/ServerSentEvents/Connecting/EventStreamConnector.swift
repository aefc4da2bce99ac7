public import NIOCore
public import NIOPosix
package import RealtimeHTTP
public import RealtimeNetworking

/// Makes the connections of event streams.
///
/// Each ``EventStream`` has its own, unless you give it one. Many streams to servers with TLS should share one: it reads the
/// certificates that it trusts only once.
public final class EventStreamConnector: Sendable {
    let streamer: any HTTPStreamer
    let eventLoopGroup: any EventLoopGroup
    /// The time; `nil` for the computer's.
    let clock: (@Sendable () -> ContinuousClock.Instant)?

    /// Creates a connector. It does not connect yet.
    ///
    /// - Parameters:
    ///   - tls: The certificates that the client trusts, and the one that it presents. Default: the system's trusted
    ///     certificates.
    ///   - proxy: The proxy that connections go through. Default: the proxy that the environment names.
    ///   - connectTimeout: The time for TCP and TLS. Default: 10 seconds.
    ///   - eventLoopGroup: The threads of the connections: a `MultiThreadedEventLoopGroup`, or another group that can
    ///     open sockets. Shut it down only after all streams are released. Default: the process's shared group.
    public convenience init(
        tls: TLSOptions = TLSOptions(),
        proxy: HTTPProxy = .environment,
        connectTimeout: Duration = .seconds(10),
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) {
        self.init(
            AsyncHTTPRequester(
                tls: tls,
                proxies: ProxyRules(proxy),
                eventLoopGroup: eventLoopGroup,
                connectTimeout: connectTimeout,
                // A connection is not used again after its stream has ended, because the server may be about to close
                // it.
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
