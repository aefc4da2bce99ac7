import ClientTestSupport
import Logging
import NIOConcurrencyHelpers
import NIOCore
import PusherClient
import PusherTestServer
import RealtimePrimitives
import TestSupport

/// A retry policy that reports the decisions of another policy.
private struct WatchedRetryPolicy: RetryPolicy {
    let policy: any RetryPolicy
    let decided: @Sendable (Duration) -> Void

    func delay(for context: RetryContext) -> Duration? {
        let delay = policy.delay(for: context)
        if let delay { decided(max(delay, context.minimumDelay)) }
        return delay
    }
}

/// A client and its app, a server, and the network between them, with simulated time. One thread does all work, in an
/// order that the seed determines.
final class SimulatedWorld {
    let settings: Settings
    let loop = SimulatedEventLoop()
    let violations = Violations()
    let ledger: WireLedger
    let network: SimulatedNetwork
    let server: InMemoryServer
    let application: SimulatedApplication
    private let requester = NIOLockedValueBox<SimulatedRequester?>(nil)
    fileprivate let tasks: CapturedTasks
    private var order: SeededGenerator
    private let jitter: NIOLockedValueBox<SeededGenerator>
    private let clock: SuspendableClock
    var members: [OtherMember] = []
    /// The number of members that have joined.
    var joinCount = 0
    /// The number of the last event that the server published on each channel.
    var published: [String: Int] = [:]
    /// The secret of each encrypted channel before the last change of the key.
    var oldSecrets: [String: String] = [:]
    /// All keys of the encrypted channels so far.
    private(set) var sharedSecrets: Set<String> = []
    private let shown: ShownText?
    /// The time at which the client was stopped, and whether its timers stopped too.
    private var sleep: (since: NIODeadline, isSuspended: Bool)?
    /// The delay of the server's messages, and the time until which earlier messages may be delayed.
    private var serverDelay = Duration.zero
    private var delayedUntil = NIODeadline.uptimeNanoseconds(0)
    /// Whether the client uses the second endpoint.
    var isAtSecondEndpoint = false

    init(_ settings: Settings, tasks: CapturedTasks, shown: ShownText? = nil) {
        self.settings = settings
        self.shown = shown
        self.tasks = tasks
        order = SeededGenerator(seed: settings.seed ^ 0x5EED)
        jitter = NIOLockedValueBox(SeededGenerator(seed: settings.seed ^ 0xA11))
        let clock = SuspendableClock { [loop] in loop.now }
        self.clock = clock
        ledger = WireLedger(loop: loop, violations: violations) { clock.now }
        server = InMemoryServer(eventLoop: loop, options: Self.serverOptions(settings))
        network = SimulatedNetwork(loop: loop, server: server, observer: ledger, seed: settings.seed ^ 0x4E7)
        application = SimulatedApplication(ledger: ledger, violations: violations, shown: shown)
        noteKeys()
        makeClient()
    }

    private static func serverOptions(_ settings: Settings) -> PusherTestServer.Options {
        var options = PusherTestServer.Options()
        options.dialect = Settings.dialects[settings.dialect % Settings.dialects.count].dialect
        options.socketIDPrefix = 7
        options.pingInterval = settings.serverPingInterval.map { .seconds($0) }
        options.sendsSubscriptionCounts = settings.countsSubscriptions
        options.messageLimit =
            switch settings.messageLimit {
            case nil: nil
            case .perSecond(let count): .init(count: count)
            case .perMinute(let count): .init(count: count, window: .seconds(60))
            case .droppingPerSecond(let count): .init(count: count, endsConnection: true)
            }
        if settings.messageLimit != nil {
            // The server behaves like Reverb, the only server with such a limit. If the limit drops an unsubscribe, the
            // next subscription is a duplicate. A server that does not answer duplicates would keep the client waiting.
            options.dialect.duplicateSubscription = .success
        }
        options.httpTransports.disconnectDelay = .seconds(5)
        options.httpTransports.sendsPrelude = settings.sendsPrelude
        options.httpTransports.secondPoll = settings.secondPoll
        options.httpTransports.streamLimit = settings.serverStopsStreams ? settings.streamLength : .max
        options.maximumRecordCount = 64
        return options
    }

    // MARK: The client

    func makeClient() {
        let requester = SimulatedRequester(network: network)
        self.requester.withLockedValue { $0 = requester }
        let (clock, jitter) = (clock, jitter)
        let transport = network.makeTransport(settings)
        let pusher = Pusher(
            key: server.server.options.application.key,
            options: clientOptions(of: transport.client),
            environment: .init(
                eventLoop: ClientEventLoop(loop),
                transport: transport,
                requester: requester,
                now: { clock.now },
                random: { jitter.withLockedValue { Double.random(in: 0..<1, using: &$0) } }
            )
        )
        application.use(pusher, number: transport.client)
        let server = server
        // With a message limit, the server also drops unsubscribe messages, so its subscriptions prove nothing.
        guard settings.messageLimit == nil else { return }
        application.state.withLockedValue { state in
            state.hasAtServer = { [weak pusher] name in
                let own = server.server.connections.first { $0.socketID == pusher?.connection.socketId }
                return own?.subscribedChannels.contains(name) == true
            }
        }
    }

    private func clientOptions(of client: Int) -> PusherClientOptions {
        let retryPolicy: any RetryPolicy =
            switch settings.retryPolicy {
            case .default: .exponential()
            case .fixed(let milliseconds): .delays([.milliseconds(milliseconds)])
            case .limited(let attempts):
                .delays(Array(repeating: .seconds(1), count: attempts), repeatsLast: false)
            }
        let ledger = ledger
        return PusherClientOptions(
            authMethod: authMethod,
            autoReconnect: settings.autoReconnect,
            host: .host("server.test"),
            useTLS: settings.useTLS,
            activityTimeout: settings.activityTimeout,
            userAuthMethod: .endpoint(
                AuthEndpoint("http://server.test/pusher/user-auth", parameters: ["user_id": "me"])
            ),
            retryPolicy: WatchedRetryPolicy(policy: retryPolicy) { ledger.decided($0, by: client) },
            proxy: .direct,
            transports: settings.transports.list,
            limits: .init(
                authorizationsAtOnce: settings.authorizationsAtOnce,
                heldEncryptedEvents: settings.heldEncryptedEvents
            ),
            callbackQueue: .eventLoop,
            logger: shown?.logger ?? Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    private var authMethod: AuthMethod {
        let url = "http://server.test/pusher/auth"
        switch settings.authorization {
        case .endpoint: return .endpoint(AuthEndpoint(url, parameters: ["user_id": "me"]))
        case .batches: return .endpoint(AuthEndpoint(url, parameters: ["user_id": "me"], isBatching: true))
        case .inline:
            let options = server.server.options
            return .inline(secret: options.application.secret, encryptionMasterKey: options.encryptionMasterKey)
        case .function:
            let (network, server) = (network, server)
            return .authorizer { request in
                let answer = FirstAnswer<Void>()
                network.loop.scheduleTask(in: network.nextLatency()) { answer.give(()) }
                guard await answer.value() != nil else { throw CancellationError() }
                if network.failsRequests { throw PusherClientError(.connectionFailed, "no backend") }
                let isPresence = request.channelName.hasPrefix("presence-")
                let authorization = server.server.authorization(
                    forSocket: request.socketID,
                    channel: request.channelName,
                    channelData: isPresence ? #"{"user_id":"me"}"# : nil
                )
                return PusherAuth(
                    auth: authorization.auth,
                    channelData: authorization.channelData,
                    sharedSecret: authorization.sharedSecret
                )
            }
        }
    }

    /// Records the current keys of the server.
    func noteKeys() {
        for name in ScriptWriter.channels where name.hasPrefix("private-encrypted-") {
            let secret = server.server.authorization(forSocket: "1.1", channel: name).sharedSecret
            ledger.state.withLockedValue { $0.encrypted.addKey(secret, of: name) }
            if let secret { sharedSecrets.insert(secret) }
        }
    }

    /// The number of the client's pending requests.
    var requestCount: Int { requester.withLockedValue { $0?.runningCount ?? 0 } }

    // MARK: Time

    /// Runs all work that is due.
    func settle() {
        var steps = 0
        let isAwake = !loop.isAsleep
        while loop.hasWork || isAwake && !tasks.isEmpty {
            steps += 1
            guard steps < 100_000 else { return violations.add("the client and the server do not become idle") }
            if loop.hasWork, !isAwake || tasks.isEmpty || order.oneIn(2) {
                loop.runNext()
            } else {
                tasks.run(Int.random(in: 0..<tasks.count, using: &order))
            }
        }
        guard isAwake else { return }
        application.settled()
        ledger.settled()
    }

    /// Advances the time, with all its effects.
    func advance(by duration: Duration) {
        let end = loop.now + TimeAmount(duration)
        settle()
        while violations.isEmpty, let next = loop.nextDeadline, next <= end {
            loop.setNow(next)
            settle()
        }
        loop.setNow(end)
    }

    /// Suspends the machine. The clock continues, but the timers stop.
    func suspend(for duration: Duration) {
        clock.suspend(for: duration)
        ledger.suspended()
    }

    /// Stops the client, while the network and the server continue.
    ///
    /// - Parameter isSuspended: Whether the client's timers stop. If false, the client's event loop is only blocked,
    ///   and the timers are late.
    func fallAsleep(isSuspended: Bool) {
        wake()
        loop.fallAsleep()
        sleep = (loop.now, isSuspended)
    }

    /// Continues the work of the client.
    func wake() {
        guard let (since, isSuspended) = sleep else { return }
        sleep = nil
        loop.wake(after: isSuspended ? loop.now - since : .zero)
        application.woke()
        ledger.suspended()
        settle()
    }

    func setServerDelay(_ delay: Duration) {
        delayedUntil = max(delayedUntil, loop.now + TimeAmount(serverDelay))
        serverDelay = delay
    }

    /// Whether none of the server's messages is delayed.
    var hasServerSaidAll: Bool { serverDelay == .zero && delayedUntil < loop.now }

    /// Whether all work is done.
    var isIdle: Bool { loop.nextDeadline == nil && tasks.isEmpty }
}

extension SimulatedWorld {
    /// Removes the references between the world's objects after a run, so the objects do not stay in memory.
    func abandon() {
        application.dropClient()
        for member in members { member.leave() }
        members = []
        network.heal()
        server.server.dropConnections()
        defer {
            network.dismantle()
            loop.removeAll()
        }
        var steps = 0
        while steps < 100_000, let next = loop.nextDeadline {
            steps += 1
            loop.setNow(next)
            while loop.hasWork || !tasks.isEmpty, steps < 100_000 {
                steps += 1
                loop.runNext()
                tasks.runNext()
            }
        }
    }
}
