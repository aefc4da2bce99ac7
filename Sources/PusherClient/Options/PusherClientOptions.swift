public import Dispatch
public import Foundation
public import Logging
import NIOConcurrencyHelpers

/// How a ``Pusher`` connects and behaves. But for ``authMethod`` and ``userAuthMethod`` the options do not change once
/// they are made.
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

    /// How ``Pusher/signIn()`` finds out who the user is. It can be changed at any time; sign-ins that are begun after
    /// it use the new one.
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
    /// The server to connect to. ``Pusher/switchTo(endpoint:key:authMethod:userAuthMethod:)`` does not change it.
    public let endpoint: PusherEndpoint
    /// The host name of the ``endpoint``.
    public var host: String { endpoint.host }
    /// The port of the ``endpoint``.
    public var port: Int { endpoint.port }
    /// What stands before `/app/` in the path of the URL: see ``endpoint``.
    public var path: String? { endpoint.path }
    /// Whether the connection is encrypted: see ``endpoint``.
    public var useTLS: Bool { endpoint.useTLS }
    /// The longest silence, in seconds, before the server is asked for a sign of life; nil for 120. The server may name
    /// a shorter one.
    public let activityTimeout: TimeInterval?

    /// Of no effect, as in PusherSwift since 10.0: ``PusherEvent/data`` is always text.
    @available(*, deprecated, message: "It has no effect: an event's data is always text.")
    public var attemptToReturnJSONObject: Bool { changeable.withLockedValue { $0.attemptsToReturnJSONObject } }

    /// How long things may take.
    public let timeouts: Timeouts
    /// When to try to connect again. A longer wait is cut to ``PusherConnection/maxReconnectGapInSeconds``, if that is set.
    public let retryPolicy: any RetryPolicy
    /// When to ask for an authorization again, where that can help: after transport errors, timeouts, and the HTTP
    /// statuses 408, 429 and 5xx. How often is for ``Limits-swift.struct/authorizationTries``.
    public let authorizationRetryPolicy: any RetryPolicy
    /// How the data of client events is written.
    public let clientEventEncoding: ClientEventEncoding
    /// What changes payloads between the application and the wire; nil for nothing.
    public let payloadTransformer: (any PayloadTransformer)?
    /// Which certificates are trusted, and which is shown. ``TLSOptions/pins`` are for the WebSocket only.
    ///
    /// **Authorization requests are not pinned**: the certificates of their hosts are verified as usual, and any key is
    /// accepted. To pin those too, make the requests yourself, with ``AuthMethod/authorizer(_:)`` and
    /// ``UserAuthMethod/authenticator(_:)``.
    ///
    /// If a key is pinned, endpoints on the Pusher server's own host are refused, on any port, because pins could not be
    /// checked there. For ``authMethod`` and ``userAuthMethod`` as they are when the client is created, or given to
    /// ``Pusher/switchTo(endpoint:key:authMethod:userAuthMethod:)``, that is ``PusherClientError/Code/invalidOption``. An
    /// endpoint that is set later, or that a request builder names, fails each authorization with
    /// ``AuthorizationError/Kind-swift.struct/invalidRequest``.
    public let tls: TLSOptions
    /// The proxy that connections go through.
    public let proxy: HTTPProxy
    /// The ways in which the client may connect, the preferred one first.
    public let transports: PusherTransports
    /// Additional headers of the WebSocket upgrade, and of the requests of HTTP transports.
    public let headers: [String: String]
    /// Additional items of the query, behind those of the client, in the URL of the WebSocket and in those of HTTP requests that
    /// receive. They are part of ``PusherConnection/url``.
    public let queryItems: [URLQueryItem]
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
    ///   - retryPolicy: When to try to connect again. Default: exponential with full jitter, up to 30 s, without end.
    ///   - authorizationRetryPolicy: When to ask for an authorization again. Default: exponential with full jitter,
    ///     from 0.5 s up to 5 s.
    ///   - clientEventEncoding: How the data of client events is written. Default: as JSON.
    ///   - payloadTransformer: What changes payloads between the application and the wire. Default: nothing.
    ///   - tls: Which certificates are trusted. Default: those that the system trusts.
    ///   - proxy: The proxy that connections go through. Default: the one that the environment names, if it does.
    ///   - transports: The ways in which the client may connect. Default: WebSocket only.
    ///   - headers: Additional headers of the WebSocket upgrade and of HTTP transports. Default: none.
    ///   - queryItems: Additional items of the URL's query. Default: none.
    ///   - subprotocol: The WebSocket subprotocol that is offered. Default: none.
    ///   - limits: What may grow, and how far.
    ///   - callbackQueue: Where callbacks run. Default: the main queue.
    ///   - logger: Where the client writes its log. Default: a logger of its own, for warnings only: the first failure
    ///     of an outage, refusals, subscriptions and sign-ins that fail, events that cannot be decrypted, a client that
    ///     is released while it is in use, callbacks that wait for a queue that does not run, and events that were
    ///     dropped.
    public convenience init(
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
        payloadTransformer: (any PayloadTransformer)? = nil,
        tls: TLSOptions = TLSOptions(),
        proxy: HTTPProxy = .environment,
        transports: PusherTransports = .webSocket,
        headers: [String: String] = [:],
        queryItems: [URLQueryItem] = [],
        subprotocol: String? = nil,
        limits: Limits = Limits(),
        callbackQueue: CallbackQueue = .main,
        logger: Logger? = nil
    ) {
        self.init(
            endpoint: PusherEndpoint(host: host.stringValue, port: port, path: path, useTLS: useTLS),
            authMethod: authMethod,
            autoReconnect: autoReconnect,
            activityTimeout: activityTimeout,
            userAuthMethod: userAuthMethod,
            timeouts: timeouts,
            retryPolicy: retryPolicy,
            authorizationRetryPolicy: authorizationRetryPolicy,
            clientEventEncoding: clientEventEncoding,
            payloadTransformer: payloadTransformer,
            tls: tls,
            proxy: proxy,
            transports: transports,
            headers: headers,
            queryItems: queryItems,
            subprotocol: subprotocol,
            limits: limits,
            callbackQueue: callbackQueue,
            logger: logger
        )
    }

    /// Makes options for a server that is given as one value: a preset, or one that the application keeps.
    ///
    /// ```swift
    /// let options = PusherClientOptions(endpoint: .soketi(host: "ws.example.com"))
    /// ```
    /// The other parameters, and what is left out, are as in
    /// ``init(authMethod:autoReconnect:host:port:path:useTLS:activityTimeout:userAuthMethod:timeouts:retryPolicy:authorizationRetryPolicy:clientEventEncoding:payloadTransformer:tls:proxy:transports:headers:queryItems:subprotocol:limits:callbackQueue:logger:)``.
    public init(
        endpoint: PusherEndpoint,
        authMethod: AuthMethod = .noMethod,
        autoReconnect: Bool = true,
        activityTimeout: TimeInterval? = nil,
        userAuthMethod: UserAuthMethod = .noMethod,
        timeouts: Timeouts = Timeouts(),
        retryPolicy: any RetryPolicy = .exponential,
        authorizationRetryPolicy: any RetryPolicy = .exponential(base: .milliseconds(500), cap: .seconds(5)),
        clientEventEncoding: ClientEventEncoding = .json,
        payloadTransformer: (any PayloadTransformer)? = nil,
        tls: TLSOptions = TLSOptions(),
        proxy: HTTPProxy = .environment,
        transports: PusherTransports = .webSocket,
        headers: [String: String] = [:],
        queryItems: [URLQueryItem] = [],
        subprotocol: String? = nil,
        limits: Limits = Limits(),
        callbackQueue: CallbackQueue = .main,
        logger: Logger? = nil
    ) {
        changeable = NIOLockedValueBox(Changeable(channels: authMethod, user: userAuthMethod))
        self.authorizationRetryPolicy = authorizationRetryPolicy
        self.clientEventEncoding = clientEventEncoding
        self.autoReconnect = autoReconnect
        self.endpoint = endpoint
        self.activityTimeout = activityTimeout
        self.timeouts = timeouts
        self.retryPolicy = retryPolicy
        self.payloadTransformer = payloadTransformer
        self.tls = tls
        self.proxy = proxy
        self.transports = transports
        self.headers = headers
        self.queryItems = queryItems
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
    public typealias Timeouts = PusherTimeouts
    /// The proxy that connections go through: the WebSocket and authorization requests.
    public typealias Proxy = HTTPProxy

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

extension PusherClientOptions: CustomReflectable {
    /// Nothing, for `dump`: headers and items of the query may be secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension PusherClientOptions: Hashable {
    /// Options are equal where they are the same object.
    public static func == (left: PusherClientOptions, right: PusherClientOptions) -> Bool { left === right }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
