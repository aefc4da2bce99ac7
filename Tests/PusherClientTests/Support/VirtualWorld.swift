import ClientTestSupport
import Foundation
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import PusherTestServer
import RealtimeNetworking
import RealtimePrimitives
import TestSupport
import Testing

@testable import PusherClient

/// A server and its clients without a socket, in a time that passes only when a test says so.
final class VirtualWorld: Sendable {
    static let authEndpoint = "http://server.test/pusher/auth"
    static let userEndpoint = "http://server.test/pusher/user-auth"

    let loop = NIOAsyncTestingEventLoop()
    let network: InMemoryServer
    /// What clients connect by, if their options do not say otherwise.
    let transport: PusherTransport
    /// Clients know it, and not the world, which holds them.
    private let clock: SuspendableClock
    /// Clients end when they are released, which is as soon as a test has no more use for its variable.
    private let held = Log<Pusher>()

    var server: PusherTestServer { network.server }

    init(
        _ options: PusherTestServer.Options = .init(),
        heartbeats: Duration = .seconds(86_400),
        transport: PusherTransport = TransportUnderTest.current
    ) {
        self.transport = transport
        var options = options
        // The client's own pings are the subject of scenarios, as on a WebSocket, where the server sends no heartbeat.
        if transport != .webSocket { options.httpTransports.heartbeatInterval = heartbeats }
        network = InMemoryServer(eventLoop: loop, options: options)
        clock = SuspendableClock { [loop] in loop.now }
    }

    /// Whoever is in the world knows the others, by links, and by timers whose time will not come: they would keep each
    /// other.
    deinit {
        _ = held.take()
        server.dropConnections()
        // Behind what the two lines above have put on the loop.
        loop.shutdownGracefully(queue: .global()) { _ in }
    }

    /// What the clock shows that goes on while the machine is suspended.
    var now: ContinuousClock.Instant { clock.now }

    /// - Parameter transport: What it opens sockets with; nil for links to the server.
    func makeClient(
        key: String? = nil,
        _ options: PusherClientOptions = .virtual(),
        transport: (any Transport)? = nil,
        random: Double = 1
    ) -> Pusher {
        let pusher = makeUnheldClient(key: key, options, transport: transport, random: random)
        held.append(pusher)
        return pusher
    }

    /// A client whose jitter is drawn.
    func makeClient(_ options: PusherClientOptions, random: @escaping @Sendable () -> Double) -> Pusher {
        let pusher = makeUnheldClient(options, random: random)
        held.append(pusher)
        return pusher
    }

    /// A client that lives as long as the test holds it.
    func makeUnheldClient(
        key: String? = nil,
        _ options: PusherClientOptions = .virtual(),
        transport: (any Transport)? = nil,
        random: Double = 1
    ) -> Pusher {
        makeUnheldClient(key: key, options, transport: transport) { random }
    }

    private func makeUnheldClient(
        key: String? = nil,
        _ options: PusherClientOptions,
        transport: (any Transport)? = nil,
        random: @escaping @Sendable () -> Double
    ) -> Pusher {
        Pusher(
            key: key ?? server.options.application.key,
            options: options,
            environment: .init(
                eventLoop: loop,
                transport: transport ?? makeTransport(options),
                requester: InMemoryRequester(server: network),
                now: { [clock] in clock.now },
                random: random
            )
        )
    }

    private func makeTransport(_ options: PusherClientOptions) -> any Transport {
        let limits = HTTPTransport.Limits(
            messageSize: options.limits.messageSize,
            sendBufferSize: options.limits.sendBufferSize
        )
        let streamer = InMemoryStreamer(server: network)
        switch self.transport {
        case .webSocket:
            let webSocket = InMemoryTransport(server: network)
            return TransportChooser.transport(for: options, webSocket: webSocket, streamer: streamer)
        case .httpStreaming: return HTTPTransport(.streaming, over: streamer, limits: limits)
        case .httpPolling: return HTTPTransport(.polling, over: streamer, limits: limits)
        }
    }

    /// A client that is connected.
    func makeConnectedClient(_ options: PusherClientOptions = .virtual()) async throws -> Pusher {
        let pusher = makeClient(options)
        pusher.connect()
        await run()
        try #require(pusher.connection.connectionState == .connected)
        return pusher
    }

    /// Lets everything happen that is due.
    func run() async { await loop.run() }

    /// Makes calls between which nothing else happens: the loop runs by itself as soon as it has something to do.
    func atOnce<Result: Sendable>(_ calls: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await loop.executeInContext(calls)
    }

    /// Lets the server notice that clients have left: over HTTP it takes its time.
    func letServerNotice() async {
        await run()
        if transport != .webSocket { await advance(by: .seconds(6)) }
    }

    /// Lets time pass.
    func advance(by duration: Duration) async { await loop.advanceTime(by: TimeAmount(duration)) }

    /// The machine sleeps: the clock goes on, the timers do not.
    func suspend(for duration: Duration) { clock.suspend(for: duration) }

    /// The timers and sockets that a client has now.
    func leftovers(of pusher: Pusher) async throws -> Leftovers {
        let engine = pusher.engine
        return try await loop.executeInContext {
            let holdings = engine.holdings
            return Leftovers(
                timers: holdings.timers.count,
                sockets: holdings.sockets.count,
                countdowns: holdings.countdowns
            )
        }
    }

    /// Runs the loop until an asynchronous call has come back.
    @discardableResult
    func complete<Result: Sendable>(_ call: @escaping @Sendable () async throws -> Result) async throws -> Result {
        let isDone = NIOLockedValueBox(false)
        let task = Task {
            defer { isDone.withLockedValue { $0 = true } }
            return try await call()
        }
        await runWhileWanted { isDone.withLockedValue { $0 } }
        if Task.isCancelled { task.cancel() }
        return try await task.value
    }

    /// Runs the loop until something holds that other tasks bring about.
    func runUntil(_ condition: () -> Bool) async {
        await runWhileWanted(until: condition)
        // It may hold while the loop is still at what comes with it.
        await loop.run()
    }

    /// A test whose time is over is cancelled, and waited for.
    private func runWhileWanted(until condition: () -> Bool) async {
        while !condition(), !Task.isCancelled {
            await loop.run()
            await Task.yield()
        }
    }
}

extension PusherClientOptions {
    /// Options for virtual time: callbacks straight on the loop, and no wait that is drawn by chance.
    static func virtual(
        authMethod: AuthMethod = .endpoint(authEndpoint: VirtualWorld.authEndpoint),
        userAuthMethod: UserAuthMethod = .noMethod,
        autoReconnect: Bool = true,
        useTLS: Bool = false,
        activityTimeout: Double? = nil,
        timeouts: PusherTimeouts = PusherTimeouts(),
        retryPolicy: any RetryPolicy = .delays([.seconds(1)]),
        clientEventEncoding: ClientEventEncoding = .json,
        transports: PusherTransports = .webSocket,
        tls: TLSOptions = TLSOptions(),
        limits: Limits = Limits(),
        callbackQueue: CallbackQueue = .eventLoop,
        logger: Logger? = nil
    ) -> PusherClientOptions {
        PusherClientOptions(
            authMethod: authMethod,
            autoReconnect: autoReconnect,
            host: .host("server.test"),
            useTLS: useTLS,
            activityTimeout: activityTimeout,
            userAuthMethod: userAuthMethod,
            timeouts: timeouts,
            retryPolicy: retryPolicy,
            authorizationRetryPolicy: .delays([.seconds(1)]),
            clientEventEncoding: clientEventEncoding,
            tls: tls,
            transports: transports,
            limits: limits,
            callbackQueue: callbackQueue,
            logger: logger ?? .quiet
        )
    }
}

extension PusherClientOptions {
    /// Options for virtual time of a client whose user the backend knows.
    static func virtual(user: String, info: String? = nil, watchlist: String? = nil) -> PusherClientOptions {
        var parameters = ["user_id": user]
        parameters["user_info"] = info
        parameters["watchlist"] = watchlist
        return .virtual(
            authMethod: .endpoint(AuthEndpoint(VirtualWorld.authEndpoint, parameters: .init(parameters))),
            userAuthMethod: .endpoint(AuthEndpoint(VirtualWorld.userEndpoint, parameters: .init(parameters)))
        )
    }
}

struct Leftovers: Equatable, Sendable {
    static let none = Leftovers(timers: 0, sockets: 0)

    var timers: Int
    var sockets: Int
    /// The timers of `statuses(every:)`.
    var countdowns = 0
}

/// Writes down every call.
final class RecordingDelegate: PusherDelegate {
    let states = Log<ConnectionState>()
    let subscriptions = Log<String>()
    let failures = Log<String>()
    let errors = Log<PusherError>()
    let undecryptable = Log<String>()
    let subscriptionErrors = Log<SubscriptionError>()
    let refusals = Log<String>()

    func changedConnectionState(from old: ConnectionState, to new: ConnectionState) { states.append(new) }
    func subscribedToChannel(name: String) { subscriptions.append(name) }
    func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?) {
        failures.append(name)
        if let error = error?.userInfo[NSUnderlyingErrorKey] as? SubscriptionError { subscriptionErrors.append(error) }
        let status = (response as? HTTPURLResponse)?.statusCode
        refusals.append("\(status.map { String($0) } ?? "-") \(data ?? "-")")
    }
    func failedToDecryptEvent(eventName: String, channelName: String, data: String?) {
        undecryptable.append("\(channelName) \(eventName)")
    }
    func receivedError(error: PusherError) {
        SecretSearch.search(formsOf: error)
        errors.append(error)
    }
}
