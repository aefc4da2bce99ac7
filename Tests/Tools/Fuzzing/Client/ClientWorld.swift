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

/// A whole client, whose server and time follow an input.
final class ClientWorld {
    let network = ScriptedNetwork()
    let requester = ScriptedRequester()
    private(set) var client: Pusher?
    private let listener = Listener()
    /// The channel of the last call of `subscribe` and `unsubscribe`.
    private(set) var wanted: Set<String> = []
    /// Whether the last call asked for a connection.
    private(set) var wantsConnection = false
    /// Whether the last call asked for the user to be signed in.
    private(set) var wantsSignIn = false
    private let clock: SuspendableClock
    var attention = ScriptedServer.Attention.answering
    /// Whether it upgrades and greets on its own.
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
            require((event.data ?? "").utf8.count <= limit, "an event is larger than a message may be")
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
        authorizationRetryPolicy: .delays([.seconds(1)]),
        limits: .init(
            messageSize: ScriptedNetwork.options.maximumMessageSize,
            sequenceBuffer: 16,
            queuedClientEvents: 8,
            heldEncryptedEvents: 8
        ),
        callbackQueue: .eventLoop,
        logger: .attentive
    )

    // MARK: What the app does

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

    /// The last report about the channel; nil if there is none.
    func outcome(of name: String) -> SubscriptionOutcome? { listener.outcome(of: name) }

    /// From now on, the server and the network work properly. The client still has to find by itself that, for example,
    /// no data arrives on its socket.
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
        require(false, "it does not come to rest")
    }

    /// Advances the time second by second, so that the server can answer meanwhile.
    func advance(seconds: Int) {
        for _ in 0..<seconds {
            network.loop.advanceTime(by: .seconds(1))
            settle()
        }
    }

    /// The machine sleeps: the clock continues, the timers stop.
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

/// Reads every report, like an app that shows them.
private final class Listener: PusherDelegate {
    private let outcomes = NIOLockedValueBox<[String: SubscriptionOutcome]>([:])

    func outcome(of name: String) -> SubscriptionOutcome? { outcomes.withLockedValue { $0[name] } }
    func forget(_ name: String) { outcomes.withLockedValue { $0[name] = nil } }

    func subscribedToChannel(name: String) { outcomes.withLockedValue { $0[name] = .subscribed } }

    func debugLog(message: String) {
        require(message.utf8.count < 20_000, "a message to the log is long")
        requireOneLine(message)
    }

    func receivedError(error: PusherError) {
        require(!"\(error)".isEmpty, "an error says nothing")
        requireOneLine("\(error)\(error.message)")
    }

    private func requireOneLine(_ text: String) {
        let isControl = { (scalar: Unicode.Scalar) in scalar.properties.generalCategory == .control }
        require(
            !text.unicodeScalars.contains(where: isControl),
            "a control character is shown: \(text.debugDescription)"
        )
    }

    func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?) {
        require(error?.localizedDescription.isEmpty == false, "a failure says nothing")
        requireOneLine(error?.localizedDescription ?? "")
        outcomes.withLockedValue { $0[name] = .failed }
    }

    func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
        require(old != new, "a change from \(old) to the same is told")
    }
}

extension Logger {
    /// Writes nothing, but formats every line.
    fileprivate static var attentive: Logger {
        var logger = Logger(label: "fuzzer") { _ in SwiftLogNoOpLogHandler() }
        logger.logLevel = .trace
        return logger
    }
}
