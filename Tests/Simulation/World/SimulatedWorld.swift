import Logging
import NIOConcurrencyHelpers
import NIOCore
import PusherClient
import PusherTestServer
import TestSupport

/// A client and its application, a server, and the network between them, in a time of their own. One thread does
/// everything, in an order that the seed decides.
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
    private let suspended = NIOLockedValueBox(Duration.zero)
    private let origin = ContinuousClock.now
    var members: [OtherMember] = []
    /// Numbers of events that the server published last on each channel.
    var published: [String: Int] = [:]
    /// Whether signatures are at times wrong on purpose.
    var hasForgedSignatures = false
    /// Whether the server has told the client, or heard from it, what it does not stand by: the two disagree then, and
    /// neither can know.
    var isInconsistent = false

    init(_ settings: Settings, tasks: CapturedTasks) {
        self.settings = settings
        self.tasks = tasks
        order = SeededGenerator(seed: settings.seed ^ 0x5EED)
        jitter = NIOLockedValueBox(SeededGenerator(seed: settings.seed ^ 0xA11))
        ledger = WireLedger(loop: loop, violations: violations)
        server = InMemoryServer(eventLoop: loop, options: Self.serverOptions(settings))
        network = SimulatedNetwork(loop: loop, server: server, observer: ledger, seed: settings.seed ^ 0x4E7)
        application = SimulatedApplication(ledger: ledger, violations: violations)
        makeClient()
    }

    private static func serverOptions(_ settings: Settings) -> PusherTestServer.Options {
        var options = PusherTestServer.Options()
        options.dialect = Settings.dialects[settings.dialect % Settings.dialects.count].dialect
        options.socketIDPrefix = 7
        options.pingInterval = settings.serverPingInterval.map { .seconds($0) }
        options.sendsSubscriptionCounts = settings.countsSubscriptions
        options.maximumRecordCount = 64
        return options
    }

    // MARK: The client

    func makeClient() {
        let requester = SimulatedRequester(network: network)
        self.requester.withLockedValue { $0 = requester }
        let (loop, origin, suspended, jitter) = (loop, origin, suspended, jitter)
        let transport = network.makeTransport()
        let pusher = Pusher(
            key: server.server.options.application.key,
            options: clientOptions(),
            environment: .init(
                eventLoop: loop,
                transport: transport,
                requester: requester,
                now: {
                    origin + .nanoseconds(Int64(loop.now.uptimeNanoseconds)) + suspended.withLockedValue { $0 }
                },
                random: { jitter.withLockedValue { Double.random(in: 0..<1, using: &$0) } }
            )
        )
        application.use(pusher, number: transport.client)
    }

    private func clientOptions() -> PusherClientOptions {
        let retryPolicy: any RetryPolicy =
            switch settings.retryPolicy {
            case .default: .exponential
            case .fixed(let milliseconds): .delays([.milliseconds(milliseconds)])
            case .limited(let attempts):
                .delays(Array(repeating: .seconds(1), count: attempts), repeatsLast: false)
            }
        return PusherClientOptions(
            authMethod: authMethod,
            autoReconnect: settings.autoReconnect,
            host: .host("server.test"),
            useTLS: settings.useTLS,
            activityTimeout: settings.activityTimeout,
            userAuthMethod: .endpoint(
                AuthEndpoint("http://server.test/pusher/user-auth", parameters: ["user_id": "me"])
            ),
            retryPolicy: retryPolicy,
            proxy: .direct,
            limits: .init(
                authorizationsAtOnce: settings.authorizationsAtOnce,
                heldEncryptedEvents: settings.heldEncryptedEvents
            ),
            callbackQueue: .eventLoop,
            logger: Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }
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

    /// Requests that have not come back to the client.
    var requestCount: Int { requester.withLockedValue { $0?.runningCount ?? 0 } }

    // MARK: Time

    var now: Duration { .nanoseconds(Int64(loop.now.uptimeNanoseconds)) }

    /// Lets everything happen that is due.
    func settle() {
        var steps = 0
        while loop.hasWork || !tasks.isEmpty {
            steps += 1
            guard steps < 100_000 else { return violations.add("it never comes to rest") }
            if loop.hasWork, tasks.isEmpty || order.oneIn(2) { loop.runNext() } else { tasks.runNext() }
        }
        ledger.settled()
    }

    /// Lets time pass, with everything that it brings.
    func advance(by duration: Duration) {
        let end = loop.now + TimeAmount(duration)
        settle()
        while violations.isEmpty, let next = loop.nextDeadline, next <= end {
            loop.setNow(next)
            settle()
        }
        loop.setNow(end)
    }

    /// The machine sleeps: the clock goes on, the timers do not.
    func suspend(for duration: Duration) {
        suspended.withLockedValue { $0 += duration }
        ledger.suspended()
    }

    /// Nothing is left to do for anybody.
    var isIdle: Bool { loop.nextDeadline == nil && tasks.isEmpty }
}

extension SimulatedWorld {
    /// Ends what a run has left of the world: whoever is in it knows the others, and would be kept.
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
