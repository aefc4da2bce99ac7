public import Dispatch
public import Foundation
public import Logging

/// How a ``Pusher`` connects and behaves. The options do not change once they are made.
///
/// Values that cannot be used do not trap: the client that gets them makes no attempt, and `connected()` and the
/// delegate say what is wrong with which.
public final class PusherClientOptions: Sendable {
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
    public let attemptToReturnJSONObject: Bool

    /// How long things may take.
    public let timeouts: Timeouts
    /// When to try again.
    public let retryPolicy: any RetryPolicy
    /// Which certificates are trusted.
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
    ///   - attemptToReturnJSONObject: Of no effect.
    ///   - autoReconnect: Whether a lost connection is made again. Default: true.
    ///   - host: The server. Default: ``PusherHost/defaultHost``.
    ///   - port: The port. Default: 443 with TLS, 80 without.
    ///   - path: What stands before `/app/` in the path of the URL, with a slash at its start. Default: none.
    ///   - useTLS: Whether the connection is encrypted. Default: true.
    ///   - activityTimeout: The longest silence, in seconds, before the server is asked for a sign of life. The shorter
    ///     of this and the server's holds. Default: 120.
    ///   - timeouts: How long things may take.
    ///   - retryPolicy: When to try again. Default: exponential with full jitter, without end.
    ///   - tls: Which certificates are trusted. Default: those that the system trusts.
    ///   - headers: Additional headers of the WebSocket upgrade. Default: none.
    ///   - subprotocol: The WebSocket subprotocol that is offered. Default: none.
    ///   - limits: What may grow, and how far.
    ///   - callbackQueue: Where callbacks run. Default: the main queue.
    ///   - logger: Where the client writes its log. Default: a logger of its own, for warnings only: the first failure of an
    ///     outage, refusals, subscriptions that fail, a client that is released while it is in use, callbacks that wait
    ///     for a queue that does not run, and events that were dropped.
    public init(
        attemptToReturnJSONObject: Bool = true,
        autoReconnect: Bool = true,
        host: PusherHost = .defaultHost,
        port: Int? = nil,
        path: String? = nil,
        useTLS: Bool = true,
        activityTimeout: TimeInterval? = nil,
        timeouts: Timeouts = Timeouts(),
        retryPolicy: any RetryPolicy = .exponential,
        tls: TLSOptions = TLSOptions(),
        headers: [String: String] = [:],
        subprotocol: String? = nil,
        limits: Limits = Limits(),
        callbackQueue: CallbackQueue = .main,
        logger: Logger? = nil
    ) {
        self.attemptToReturnJSONObject = attemptToReturnJSONObject
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
            closing: Duration = .seconds(2),
            backOffReset: Duration = .seconds(10)
        ) {
            self.connectionAttempt = connectionAttempt
            self.unavailable = unavailable
            self.pong = pong
            self.subscription = subscription
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

        /// Makes limits.
        public init(
            messageSize: Int = 16 * 1_024 * 1_024,
            sequenceBuffer: Int = 65_536,
            pendingCallbacks: Int = 65_536
        ) {
            self.messageSize = messageSize
            self.sequenceBuffer = sequenceBuffer
            self.pendingCallbacks = pendingCallbacks
        }
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
