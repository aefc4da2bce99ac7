public import Dispatch
public import Foundation
public import Logging
import NIOConcurrencyHelpers

/// How a ``Pusher`` connects and behaves. But for ``authMethod`` and ``userAuthMethod`` the options do not change once they are made.
///
/// Values that cannot be used do not trap: the client that gets them makes no attempt, and `connected()` and the
/// delegate say what is wrong with which.
public final class PusherClientOptions: Sendable {
    /// How private, presence and encrypted channels are authorized. It can be changed at any time; authorizations that
    /// are begun after it use the new one.
    public var authMethod: AuthMethod {
        get { changeable.withLockedValue { $0.channels } }
        set { replace(\.channels, with: newValue) }
    }

    /// How ``Pusher/signIn()`` finds out who the user is. It can be changed at any time; sign-ins that are begun after it
    /// use the new one.
    public var userAuthMethod: UserAuthMethod {
        get { changeable.withLockedValue { $0.user } }
        set { replace(\.user, with: newValue) }
    }

    private struct Changeable: Sendable {
        var channels: AuthMethod
        var user: UserAuthMethod
        var attemptsToReturnJSONObject = true
    }

    private let changeable: NIOLockedValueBox<Changeable>

    private func replace<Value>(_ path: WritableKeyPath<Changeable, Value>, with value: Value) {
        // The old one is released outside the lock: what it owns may call back.
        _ = changeable.withLockedValue { changeable in
            defer { changeable[keyPath: path] = value }
            return changeable[keyPath: path]
        }
    }

    /// Whether a lost connection is made again. Where it is false, no loss of any kind leads to an attempt.
    public let autoReconnect: Bool
    /// The host name.
    public let host: String
    /// The port.
    public let port: Int
    /// What stands before `/app/` in the path of the URL.
    public let path: String?
    /// Whether the connection is encrypted.
    public let useTLS: Bool
    /// The longest silence, in seconds, before the server is asked for a sign of life; nil for 120. The server may name
    /// a shorter one.
    public let activityTimeout: TimeInterval?

    /// Of no effect, as in PusherSwift since 10.0: ``PusherEvent/data`` is always text.
    @available(*, deprecated, message: "It has no effect: an event's data is always text.")
    public var attemptToReturnJSONObject: Bool { changeable.withLockedValue { $0.attemptsToReturnJSONObject } }

    /// How long things may take.
    public let timeouts: Timeouts
    /// When to try to connect again.
    public let retryPolicy: any RetryPolicy
    /// When to ask for an authorization again, where that can help: after transport errors, timeouts, and the HTTP
    /// statuses 408, 429 and 5xx. How often is for ``Limits-swift.struct/authorizationTries``.
    public let authorizationRetryPolicy: any RetryPolicy
    /// How the data of client events is written.
    public let clientEventEncoding: ClientEventEncoding
    /// Which certificates are trusted, and which is shown.
    public let tls: TLSOptions
    /// Additional headers of the WebSocket upgrade.
    public let headers: [String: String]
    /// The WebSocket subprotocol that is offered. No answer to it is ever required.
    public let subprotocol: String?
    /// What may grow, and how far.
    public let limits: Limits
    /// Where callbacks run.
    public let callbackQueue: CallbackQueue
    /// Where the client writes its log. Its metadata keys start with `pusher.`; secrets are never logged, and payloads
    /// only at trace level.
    public let logger: Logger

    /// Makes options. All have a default.
    ///
    /// - Parameters:
    ///   - authMethod: How private, presence and encrypted channels are authorized. Default: not at all.
    ///   - autoReconnect: Whether a lost connection is made again. Default: true.
    ///   - host: The server. Default: ``PusherHost/defaultHost``.
    ///   - port: The port. Default: 443 with TLS, 80 without.
    ///   - path: What stands before `/app/` in the path of the URL, with a slash at its start. Default: none.
    ///   - useTLS: Whether the connection is encrypted. Default: true.
    ///   - activityTimeout: The longest silence, in seconds, before the server is asked for a sign of life. The shorter
    ///     of this and the server's holds. Default: 120.
    ///   - userAuthMethod: How the user signs in. Default: not at all.
    ///   - timeouts: How long things may take.
    ///   - retryPolicy: When to try to connect again. Default: exponential with full jitter, without end.
    ///   - authorizationRetryPolicy: When to ask for an authorization again. Default: exponential with full jitter, from
    ///     0.5 s up to 5 s.
    ///   - clientEventEncoding: How the data of client events is written. Default: as JSON.
    ///   - tls: Which certificates are trusted. Default: those that the system trusts.
    ///   - headers: Additional headers of the WebSocket upgrade. Default: none.
    ///   - subprotocol: The WebSocket subprotocol that is offered. Default: none.
    ///   - limits: What may grow, and how far.
    ///   - callbackQueue: Where callbacks run. Default: the main queue.
    ///   - logger: Where the client writes its log. Default: a logger of its own, for warnings only: the first failure of an
    ///     outage, refusals, subscriptions and sign-ins that fail, events that cannot be decrypted, a client that is
    ///     released while it is in use, callbacks that wait for a queue that does not run, and events that were dropped.
    public init(
        authMethod: AuthMethod = .noMethod,
        autoReconnect: Bool = true,
        host: PusherHost = .defaultHost,
        port: Int? = nil,
        path: String? = nil,
        useTLS: Bool = true,
        activityTimeout: TimeInterval? = nil,
        userAuthMethod: UserAuthMethod = .noMethod,
        timeouts: Timeouts = Timeouts(),
        retryPolicy: any RetryPolicy = .exponential,
        authorizationRetryPolicy: any RetryPolicy = .exponential(base: .milliseconds(500), cap: .seconds(5)),
        clientEventEncoding: ClientEventEncoding = .json,
        tls: TLSOptions = TLSOptions(),
        headers: [String: String] = [:],
        subprotocol: String? = nil,
        limits: Limits = Limits(),
        callbackQueue: CallbackQueue = .main,
        logger: Logger? = nil
    ) {
        changeable = NIOLockedValueBox(Changeable(channels: authMethod, user: userAuthMethod))
        self.authorizationRetryPolicy = authorizationRetryPolicy
        self.clientEventEncoding = clientEventEncoding
        self.autoReconnect = autoReconnect
        self.host = host.stringValue
        self.port = port ?? (useTLS ? 443 : 80)
        self.path = path
        self.useTLS = useTLS
        self.activityTimeout = activityTimeout
        self.timeouts = timeouts
        self.retryPolicy = retryPolicy
        self.tls = tls
        self.headers = headers
        self.subprotocol = subprotocol
        self.limits = limits
        self.callbackQueue = callbackQueue
        self.logger = logger ?? Self.warningsOnly
    }

    /// Makes options as PusherSwift's, with one that has had no effect since its version 10.0.
    @available(*, deprecated, message: "Leave attemptToReturnJSONObject out: it has no effect.")
    public convenience init(
        authMethod: AuthMethod = .noMethod,
        attemptToReturnJSONObject: Bool,
        autoReconnect: Bool = true,
        host: PusherHost = .defaultHost,
        port: Int? = nil,
        path: String? = nil,
        useTLS: Bool = true,
        activityTimeout: TimeInterval? = nil
    ) {
        self.init(
            authMethod: authMethod,
            autoReconnect: autoReconnect,
            host: host,
            port: port,
            path: path,
            useTLS: useTLS,
            activityTimeout: activityTimeout
        )
        changeable.withLockedValue { $0.attemptsToReturnJSONObject = attemptToReturnJSONObject }
    }

    private static var warningsOnly: Logger {
        var logger = Logger(label: "pusher")
        logger.logLevel = .warning
        return logger
    }
}

extension PusherClientOptions {
    /// How long things may take.
    public struct Timeouts: Hashable, Sendable {
        /// For an attempt to connect: name resolution, TCP, TLS, the upgrade and the server's greeting together.
        /// Default: 15 s.
        public var connectionAttempt: Duration
        /// Of trying, before the status becomes ``ConnectionStatus/unavailable(reason:)``. Default: 10 s.
        public var unavailable: Duration
        /// For the answer to a ping, before the connection is given up. Default: 30 s.
        public var pong: Duration
        /// For the answer to a subscription. Default: 10 s.
        public var subscription: Duration
        /// For the answer of an authorizer, each time it is asked. Default: 10 s.
        public var authorization: Duration
        /// For the answer to a sign-in. Default: 10 s.
        public var signIn: Duration
        /// For the server's part of the closing handshake, after `disconnect()`. Default: 2 s.
        public var closing: Duration
        /// That a connection must have held, for the back-off to start anew after it; zero for any. Default: 10 s.
        public var backOffReset: Duration

        /// Makes timeouts.
        public init(
            connectionAttempt: Duration = .seconds(15),
            unavailable: Duration = .seconds(10),
            pong: Duration = .seconds(30),
            subscription: Duration = .seconds(10),
            authorization: Duration = .seconds(10),
            signIn: Duration = .seconds(10),
            closing: Duration = .seconds(2),
            backOffReset: Duration = .seconds(10)
        ) {
            self.connectionAttempt = connectionAttempt
            self.unavailable = unavailable
            self.pong = pong
            self.subscription = subscription
            self.authorization = authorization
            self.signIn = signIn
            self.closing = closing
            self.backOffReset = backOffReset
        }
    }

    /// What may grow, and how far.
    public struct Limits: Hashable, Sendable {
        /// The largest message, in bytes. A larger one is refused with close code 1009, and the client reconnects.
        /// Default: 16 MiB.
        public var messageSize: Int
        /// The elements that a sequence keeps for a slow consumer. The newest are kept; what is dropped is counted in
        /// ``EventSequence/droppedCount`` and reported once a spell. Default: 65,536.
        public var sequenceBuffer: Int
        /// The callbacks that may wait for their queue. The newest are kept; dropped ones are counted and reported.
        /// Changes of state and outcomes of subscriptions are never dropped.
        /// Default: 65,536.
        public var pendingCallbacks: Int
        /// How many authorizations are asked for at once. Default: 16; a ``BatchAuthorizer`` says for itself how many
        /// it takes in one request.
        public var authorizationsAtOnce: Int
        /// How often an authorization is asked for before it has failed, where asking again can help. Default: 3.
        public var authorizationTries: Int
        /// The largest answer to an authorization request, in bytes. Default: 1 MiB.
        public var authorizationResponseSize: Int
        /// The client events of a channel that may wait for its subscription, or for the server's limit. Default: 100.
        public var queuedClientEvents: Int
        /// The most client events that go out in a second, over all channels; those beyond wait. Nil for no bound.
        /// Default: 10, which is what the hosted service allows a connection.
        public var clientEventsPerSecond: Int?
        /// The longest data of a client event, in bytes. Default: 10,240, which is what the hosted service allows.
        public var clientEventSize: Int
        /// The events of an encrypted channel that may wait for its key. When more come, the oldest fails. Default: 1,000.
        public var heldEncryptedEvents: Int

        /// Makes limits.
        public init(
            messageSize: Int = 16 * 1_024 * 1_024,
            sequenceBuffer: Int = 65_536,
            pendingCallbacks: Int = 65_536,
            authorizationsAtOnce: Int = 16,
            authorizationTries: Int = 3,
            authorizationResponseSize: Int = 1_024 * 1_024,
            queuedClientEvents: Int = 100,
            clientEventsPerSecond: Int? = 10,
            clientEventSize: Int = 10_240,
            heldEncryptedEvents: Int = 1_000
        ) {
            self.messageSize = messageSize
            self.sequenceBuffer = sequenceBuffer
            self.pendingCallbacks = pendingCallbacks
            self.authorizationsAtOnce = authorizationsAtOnce
            self.authorizationTries = authorizationTries
            self.authorizationResponseSize = authorizationResponseSize
            self.queuedClientEvents = queuedClientEvents
            self.clientEventsPerSecond = clientEventsPerSecond
            self.clientEventSize = clientEventSize
            self.heldEncryptedEvents = heldEncryptedEvents
        }
    }

    /// How the data of a client event is written.
    public enum ClientEventEncoding: Hashable, Sendable {
        /// As a JSON value: an object stays an object. What pusher-js and PusherSwift send.
        case json
        /// As a string with the JSON text inside; a string stays as it is. For servers and receivers that expect it.
        case string
    }

    /// Where callbacks run: bound closures, the delegate's methods, the `on…` closures. Async sequences never pass
    /// through it.
    public enum CallbackQueue: Sendable {
        /// The main queue. A process that never runs it gets no callbacks; the log says so once.
        case main
        /// A queue of yours. Make it a serial one, or events overtake each other.
        case queue(DispatchQueue)
        /// The client's event loop: the shortest way. Callbacks must not block, or they hold up the socket.
        case eventLoop
    }
}

extension PusherClientOptions: Hashable {
    /// Options are equal where they are the same object.
    public static func == (left: PusherClientOptions, right: PusherClientOptions) -> Bool { left === right }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
