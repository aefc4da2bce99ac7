import ClientTestSupport
import PusherTestServer
import RealtimeNetworking
import TestSupport
import TestTLS

@testable import PusherClient

/// Runs a test with a server, a relay, and a client that can reach the server only through the relay.
func withRelay(
    useTLS: Bool = false,
    activityTimeout: Double? = nil,
    timeouts: PusherTimeouts = .patient,
    transports: PusherTransports = .webSocket,
    _ body: (PusherTestServer, PusherTestRelay, Pusher) async throws -> Void
) async throws {
    let chain = TestChain(.direct)
    var options = PusherTestServer.Options()
    // On a slow machine too, the server must wait for the client's next request, and not end the old response.
    options.httpTransports.moveTime = .patience
    if useTLS { options.tls = .init(certificateChain: chain.chainPEM, privateKey: chain.keyPEM) }
    try await PusherTestServer.withServer(options: options) { server in
        var relayOptions = PusherTestRelay.Options(serverPort: server.port)
        relayOptions.host = LoopbackAddress.ofItsOwn()
        try await PusherTestRelay.withRelay(options: relayOptions) { relay in
            let pusher = Pusher(
                key: server.options.application.key,
                options: PusherClientOptions(
                    host: .host(relay.host),
                    port: relay.port,
                    useTLS: useTLS,
                    activityTimeout: activityTimeout,
                    timeouts: timeouts,
                    retryPolicy: .delays([.milliseconds(20)]),
                    // The certificate does not contain the relay's address, so the client must not check the address.
                    tls: TLSOptions(
                        trustRoots: .only(pem: chain.rootPEM),
                        certificateVerification: .noHostnameVerification
                    ),
                    transports: transports,
                    callbackQueue: .eventLoop,
                    logger: .quiet
                )
            )
            try await body(server, relay, pusher)
            relay.passOn()
            await pusher.disconnected()
        }
    }
}

/// A channel of a connected client, and its events.
struct WatchedChannel {
    let channel: PusherChannel
    private var events: EventSequence<PusherEvent>.AsyncIterator
    private var resubscriptions: EventSequence<Duration>.AsyncIterator

    /// Connects and subscribes.
    init(_ name: String, of pusher: Pusher) async throws {
        channel = pusher.subscribe(name)
        events = channel.events(named: "created").makeAsyncIterator()
        resubscriptions = channel.resubscriptions.makeAsyncIterator()
        try await pusher.connected()
        try await channel.subscribed()
    }

    /// Publishes an event, and returns the data of the event that arrives. If a slow machine loses the connection and
    /// the event, the method publishes the event again.
    mutating func relayed(_ data: String, by server: PusherTestServer) async throws -> String? {
        let (more, name) = (channel.resubscriptions, channel.name)
        let publishing = Task {
            for await _ in more { try server.publish(event: "created", data: data, to: name) }
        }
        defer { publishing.cancel() }
        try server.publish(event: "created", data: data, to: name)
        return await next()
    }

    mutating func next() async -> String? { await events.next(isolation: #isolation)?.data }

    /// Waits for the subscription after the next loss.
    mutating func resubscribed() async -> Bool { await resubscriptions.next(isolation: #isolation) != nil }
}

extension PusherTimeouts {
    /// Timeouts with a short limit for attempts. The client repeats attempts that exceed the limit.
    static var hasty: Self {
        var timeouts = Self.patient
        timeouts.connectionAttempt = .seconds(3)
        return timeouts
    }

    /// Timeouts with a short limit for pongs, which is enough for an answer on loopback. The client repeats an
    /// attempt that fails before the fault has ended.
    static var alert: Self {
        var timeouts = Self.hasty
        timeouts.pong = .seconds(10)
        timeouts.connectionAttempt = .seconds(15)
        return timeouts
    }
}
