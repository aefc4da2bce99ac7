import ClientTestSupport
import Foundation
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import PusherTestServer
import PusherVirtualTime
import RealtimeNetworking
import RealtimePrimitives
import TestSupport
import Testing

@testable import PusherClient

/// A server and its clients without sockets, in virtual time that a test controls.
final class VirtualWorld: Sendable {
    static let authEndpoint = "http://server.test/pusher/auth"
    static let userEndpoint = "http://server.test/pusher/user-auth"

    let loop = NIOAsyncTestingEventLoop()
    let network: InMemoryServer
    /// The default transport of the clients.
    let transport: PusherTransport
    /// The clock of the clients. It is a separate object, because clients retain their clock, but must not retain the
    /// world.
    private let clock: SuspendableClock
    /// The clients that the world keeps alive, even if a test no longer uses its variable.
    private let held = Log<Pusher>()

    var server: PusherTestServer { network.server }

    init(
        _ options: PusherTestServer.Options = .init(),
        heartbeats: Duration = .seconds(86_400),
        transport: PusherTransport = TransportUnderTest.current
    ) {
        self.transport = transport
        var options = options
        // The scenarios test the client's own pings, so the server sends no heartbeat during a test.
        if transport != .webSocket { options.httpTransports.heartbeatInterval = heartbeats }
        options.httpTransports.disconnectDelay = .seconds(5)
        network = InMemoryServer(eventLoop: loop, options: options)
        clock = SuspendableClock { [loop] in loop.now }
    }

    /// Ends the links and timers that retain the server and its clients.
    deinit {
        _ = held.take()
        server.dropConnections()
        network.latency = .zero
        network.restoreLinks()
        network.cutLinks()
        // The shutdown runs after the work that the lines above have put on the loop.
        loop.shutdownGracefully(queue: .global()) { _ in }
    }

    /// The time of the clock that continues while the machine is suspended.
    var now: ContinuousClock.Instant { clock.now }

    /// - Parameter transport: The client's transport, or nil for the world's transport.
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

    /// Creates a client with random jitter.
    func makeClient(_ options: PusherClientOptions, random: @escaping @Sendable () -> Double) -> Pusher {
        let pusher = makeUnheldClient(options, random: random)
        held.append(pusher)
        return pusher
    }

    /// Creates a client that the test alone keeps alive.
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

    /// Returns the world's transport, which opens links to the server.
    func makeTransport(_ options: PusherClientOptions = .virtual()) -> any Transport {
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

    /// Creates a client and connects it.
    func makeConnectedClient(_ options: PusherClientOptions = .virtual()) async throws -> Pusher {
        let pusher = makeClient(options)
        pusher.connect()
        await run()
        try #require(pusher.connection.connectionState == .connected)
        return pusher
    }

    /// Runs all due work on the loop.
    func run() async { await loop.run() }

    /// Makes calls in one turn of the loop, without other work between the calls.
    func atOnce<Result: Sendable>(_ calls: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await loop.executeInContext(calls)
    }

    /// Lets the server notice disconnected clients, which takes time over HTTP.
    func letServerNotice() async {
        await run()
        if transport != .webSocket { await advance(by: .seconds(6)) }
    }

    /// Lets time pass.
    func advance(by duration: Duration) async { await loop.advanceTime(by: TimeAmount(duration)) }

    /// Lets the time pass in which new channels hold events.
    func endHolding() async { await advance(by: ClientEngine.holdingTime) }

    /// Suspends the machine. The clock continues, and the timers stop.
    func suspend(for duration: Duration) { clock.suspend(for: duration) }

    /// Returns the numbers of a client's current timers and sockets.
    func leftovers(of pusher: Pusher) async throws -> Leftovers {
        let engine = pusher.engine
        return try await loop.executeInContext {
            let resources = engine.resources
            return Leftovers(
                timers: resources.timers.count,
                sockets: resources.sockets.count,
                countdowns: resources.countdowns
            )
        }
    }

    /// Runs the loop until an asynchronous call has returned.
    @discardableResult
    func complete<Result: Sendable>(_ call: @escaping @Sendable () async throws -> Result) async throws -> Result {
        let isDone = NIOLockedValueBox(false)
        let task = Task {
            defer { isDone.withLockedValue { $0 = true } }
            return try await call()
        }
        await runWhileWanted { isDone.withLockedValue { $0 } }
        guard isDone.withLockedValue({ $0 }) else {
            // The test has exceeded its time limit. The call may ignore the cancellation, so the test does not wait for
            // the call.
            task.cancel()
            throw CancellationError()
        }
        return try await task.value
    }

    /// Runs the loop until other tasks have made a condition true.
    func runUntil(_ condition: () -> Bool) async {
        await runWhileWanted(until: condition)
        // The condition may become true before the loop has finished the related work.
        await loop.run()
    }

    /// Runs the loop until a condition is true, or until the test is cancelled because of its time limit.
    private func runWhileWanted(until condition: () -> Bool) async {
        while !condition(), !Task.isCancelled {
            await loop.run()
            await Task.yield()
        }
    }
}

extension PusherClientOptions {
    /// Returns options for virtual time, with callbacks on the event loop and without random waits.
    static func virtual(
        authMethod: AuthMethod = .endpoint(authEndpoint: VirtualWorld.authEndpoint),
        userAuthMethod: UserAuthMethod = .noMethod,
        autoReconnect: Bool = true,
        useTLS: Bool = false,
        activityTimeout: Double? = nil,
        timeouts: PusherTimeouts = PusherTimeouts(),
        retryPolicy: any RetryPolicy = .delays([.seconds(1)]),
        requestRetryPolicy: any RetryPolicy = .delays([.seconds(1)]),
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
            requestRetryPolicy: requestRetryPolicy,
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
    /// Returns options for virtual time, with a user that the backend knows.
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
    /// The number of timers of `statuses(every:)`.
    var countdowns = 0
}

/// Records every call.
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
