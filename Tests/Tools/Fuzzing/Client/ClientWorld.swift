import ClientTestSupport
import Foundation
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import PusherClient
import PusherProtocol
import TestSupport
import WebSocketClient

/// A whole client. The input controls the time and the client's server.
final class ClientWorld {
    let network = ScriptedNetwork()
    let requester = ScriptedRequester()
    private(set) var client: Pusher?
    private let listener = Listener()
    /// The channels that the last calls of `subscribe` and `unsubscribe` requested.
    private(set) var wanted: Set<String> = []
    /// Whether the last call requested a connection.
    private(set) var wantsConnection = false
    /// Whether the last call requested a sign-in.
    private(set) var wantsSignIn = false
    private let clock: SuspendableClock
    var attention = ScriptedServer.Attention.answering
    /// Whether the server upgrades and greets without a command.
    var isGreeting = true
    private var sequence: EventSequence<PusherEvent>?

    private let tasks: CapturedTasks

    /// - Parameter tasks: The tasks of the current thread, the only one that `EmbeddedEventLoop` allows.
    init(_ tasks: CapturedTasks) {
        self.tasks = tasks
        let loop = network.loop
        let clock = SuspendableClock { loop.now }
        self.clock = clock
        let client = Pusher(
            key: "key",
            options: Self.options,
            environment: .init(
                eventLoop: loop,
                transport: ScriptedTransport(network: NIOLoopBound(network, eventLoop: loop)),
                requester: requester,
                now: { clock.now },
                random: { 0.5 }
            )
        )
        self.client = client
        client.delegate = listener
        let limit = ScriptedNetwork.options.maximumMessageSize
        client.bind { event in
            require((event.data ?? "").utf8.count <= limit, "an event exceeds the maximum message size")
            _ = event.property(withKey: "data")
        }
        sequence = client.events
    }

    private static let options = PusherClientOptions(
        authMethod: .endpoint(authEndpoint: "http://server.test/auth"),
        host: .host("server.test"),
        useTLS: false,
        userAuthMethod: .endpoint("http://server.test/user"),
        retryPolicy: .delays([.seconds(1)]),
        requestRetryPolicy: .delays([.seconds(1)]),
        limits: .init(
            messageSize: ScriptedNetwork.options.maximumMessageSize,
            sequenceBuffer: 16,
            queuedClientEvents: 8,
            heldEncryptedEvents: 8
        ),
        callbackQueue: .eventLoop,
        logger: .attentive
    )

    // MARK: Calls of the app

    func subscribe(_ name: String) {
        guard let channel = client?.subscribe(name) else { return }
        wanted.insert(name)
        channel.onSubscriptionCountChanged = { require($0 >= 0, "\($0) subscriptions") }
    }

    func unsubscribe(_ name: String) {
        client?.unsubscribe(name)
        wanted.remove(name)
        listener.forget(name)
    }

    func connect() {
        wantsConnection = true
        client?.connect()
    }

    func disconnect() {
        wantsConnection = false
        client?.disconnect()
    }

    func reconnect() {
        wantsConnection = true
        client?.reconnectNow()
    }

    func signIn() {
        wantsSignIn = true
        client?.signIn()
    }

    func signOut() {
        wantsSignIn = false
        client?.signOut()
    }

    /// Returns the last report about the channel, or nil if there is none.
    func outcome(of name: String) -> SubscriptionOutcome? { listener.outcome(of: name) }

    /// Makes the server and the network work properly. The client still has to detect some faults by itself, for
    /// example a silent socket.
    func heal() {
        attention = .answering
        isGreeting = true
        network.refusals = 0
        requester.forgetAnswers()
        settle()
    }

    // MARK: Time

    /// Runs all work that is due.
    func settle() {
        for _ in 0..<1_000 {
            network.loop.run()
            var hasHappened = !tasks.isEmpty
            while !tasks.isEmpty { tasks.runNext() }
            for server in network.servers {
                if server.receive(attention) { hasHappened = true }
                if isGreeting, attention != .stalled, !server.isUpgraded, server.hasRequest {
                    server.upgrade()
                    server.greet()
                    hasHappened = true
                }
            }
            network.forgetClosed()
            if !hasHappened { return }
        }
        require(false, "the client and its server do not become idle")
    }

    /// Advances the time second by second. The server answers after each second.
    func advance(seconds: Int) {
        for _ in 0..<seconds {
            network.loop.advanceTime(by: .seconds(1))
            settle()
        }
    }

    /// Suspends the machine. The clock continues, but the timers stop.
    func suspend(seconds: Int) { clock.suspend(for: .seconds(seconds)) }

    func drop() {
        sequence = nil
        client = nil
    }
}

enum SubscriptionOutcome: Sendable {
    case subscribed
    case failed
}

/// Reads every report of the client, like an app that displays the reports.
private final class Listener: PusherDelegate {
    private let outcomes = NIOLockedValueBox<[String: SubscriptionOutcome]>([:])

    func outcome(of name: String) -> SubscriptionOutcome? { outcomes.withLockedValue { $0[name] } }
    func forget(_ name: String) { outcomes.withLockedValue { $0[name] = nil } }

    func subscribedToChannel(name: String) { outcomes.withLockedValue { $0[name] = .subscribed } }

    func debugLog(message: String) {
        require(message.utf8.count < 20_000, "a log message has \(message.utf8.count) bytes")
        requireOneLine(message)
    }

    func receivedError(error: PusherError) {
        require(!"\(error)".isEmpty, "an error has no text")
        requireOneLine("\(error)\(error.message)")
    }

    private func requireOneLine(_ text: String) {
        let isControl = { (scalar: Unicode.Scalar) in scalar.properties.generalCategory == .control }
        require(
            !text.unicodeScalars.contains(where: isControl),
            "a text contains a control character: \(text.debugDescription)"
        )
    }

    func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?) {
        require(error?.localizedDescription.isEmpty == false, "a subscription failure has no error text")
        requireOneLine(error?.localizedDescription ?? "")
        outcomes.withLockedValue { $0[name] = .failed }
    }

    func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
        require(old != new, "a report says that the state changed from \(old) to \(new)")
    }
}

extension Logger {
    /// A logger that formats every line, but writes nothing.
    fileprivate static var attentive: Logger {
        var logger = Logger(label: "fuzzer") { _ in SwiftLogNoOpLogHandler() }
        logger.logLevel = .trace
        return logger
    }
}
