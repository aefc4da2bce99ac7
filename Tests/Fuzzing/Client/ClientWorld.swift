import Foundation
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import PusherClient
import PusherProtocol

/// A whole client, whose server and whose time are those of an input.
final class ClientWorld {
    let network = ScriptedNetwork()
    let requester = ScriptedRequester()
    private(set) var client: Pusher?
    private let listener = Listener()
    /// What `subscribe` and `unsubscribe` were last called for.
    private(set) var wanted: Set<String> = []
    private let suspended = NIOLockedValueBox(Duration.zero)
    /// Whether the server does on its own what a server does.
    var isAnswering = true
    /// Whether it upgrades and greets on its own.
    var isGreeting = true
    private var sequence: EventSequence<PusherEvent>?

    private static let start = ContinuousClock.now

    init() {
        require(Jobs.areOurs, "tasks cannot be had in order")
        let (loop, suspended) = (network.loop, suspended)
        let client = Pusher(
            key: "key",
            options: Self.options,
            environment: .init(
                eventLoop: loop,
                transport: ScriptedTransport(network: NIOLoopBound(network, eventLoop: loop)),
                requester: requester,
                now: {
                    Self.start + .nanoseconds(Int64(loop.now.uptimeNanoseconds)) + suspended.withLockedValue { $0 }
                },
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

    // MARK: What the application does

    func subscribe(_ name: String) {
        guard let channel = client?.subscribe(name) else { return }
        wanted.insert(name)
        channel.onSubscriptionCountChanged = { require($0 >= 0, "\($0) subscriptions") }
    }

    func unsubscribe(_ name: String) {
        client?.unsubscribe(name)
        wanted.remove(name)
    }

    // MARK: Time

    /// Lets everything happen that is due.
    func settle() {
        for _ in 0..<1_000 {
            network.loop.run()
            var hasHappened = Jobs.run()
            for server in network.servers {
                if server.receive(answering: isAnswering) { hasHappened = true }
                if isGreeting, !server.isUpgraded, server.hasRequest {
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

    /// Lets seconds pass one by one, so that the server can answer meanwhile.
    func advance(seconds: Int) {
        for _ in 0..<seconds {
            network.loop.advanceTime(by: .seconds(1))
            settle()
        }
    }

    /// The machine sleeps: the clock goes on, the timers do not.
    func suspend(seconds: Int) { suspended.withLockedValue { $0 += .seconds(seconds) } }

    func drop() {
        sequence = nil
        client = nil
    }
}

/// Reads what it is told, as an application does that shows it.
private final class Listener: PusherDelegate {
    func debugLog(message: String) { require(message.utf8.count < 20_000, "a message to the log is long") }

    func receivedError(error: PusherError) { require(!"\(error)".isEmpty, "an error says nothing") }

    func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?) {
        require(error?.localizedDescription.isEmpty == false, "a failure says nothing")
    }

    func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
        require(old != new, "a change from \(old) to the same is told")
    }
}

extension Logger {
    /// Writes nothing, and makes all that would be written.
    fileprivate static var attentive: Logger {
        var logger = Logger(label: "fuzzer") { _ in SwiftLogNoOpLogHandler() }
        logger.logLevel = .trace
        return logger
    }
}
