public import Dispatch
public import Foundation
public import Logging
import NIOConcurrencyHelpers

/// How a ``Pusher`` connects and behaves: a server, and properties with defaults.
///
/// ```swift
/// let options = PusherClientOptions(cluster: "eu")
/// options.authMethod = .endpoint("https://example.com/pusher/auth")
/// options.retryPolicy = .exponential(cap: .seconds(10))
/// let pusher = Pusher(key: "app-key", options: options)
/// ```
///
/// A client takes the values that the properties have when it is created. ``authMethod`` and ``userAuthMethod`` are the
/// exception: setting them later changes the clients that were created with the same object.
///
/// Invalid values do not trap. The client makes no attempt, and ``Pusher/connected(timeout:)`` and the delegate report
/// which value is invalid and why.
public final class PusherClientOptions: Sendable {
    private struct Authorizing: Sendable {
        var channels = AuthMethod.noMethod
        var user = UserAuthMethod.noMethod
    }

    private struct Values: Sendable {
        var endpoint: PusherEndpoint
        var autoReconnect = true
        var activityTimeout: TimeInterval?
        var attemptsToReturnJSONObject = true
        var timeouts = PusherTimeouts()
        var retryPolicy: any RetryPolicy = .exponential()
        var authorizationRetryPolicy: any RetryPolicy = .exponential(base: .milliseconds(500), cap: .seconds(5))
        var clientEventEncoding = ClientEventEncoding.json
        var payloadTransformer: (any PayloadTransformer)?
        var tls = TLSOptions()
        var proxy = HTTPProxy.environment
        var transports = PusherTransports.webSocket
        var headers: [String: String] = [:]
        var queryItems: [URLQueryItem] = []
        var subprotocol: String?
        var limits = Limits()
        var callbackQueue = CallbackQueue.main
        var logger = warningsOnly
    }

    /// Shared by the copies that clients keep.
    private let authorizing: NIOLockedValueBox<Authorizing>
    private let values: NIOLockedValueBox<Values>

    private init(_ values: Values, sharing authorizing: NIOLockedValueBox<Authorizing>) {
        self.authorizing = authorizing
        self.values = NIOLockedValueBox(values)
    }

    /// The client's own copy. Its values do not change when the original changes, except the way to authorize.
    func copyForClient() -> PusherClientOptions {
        PusherClientOptions(values.withLockedValue { $0 }, sharing: authorizing)
    }

    private subscript<Value>(path: WritableKeyPath<Values, Value>) -> Value {
        get { values.withLockedValue { $0[keyPath: path] } }
        set { Self.replace(path, in: values, with: newValue) }
    }

    private static func replace<Root, Value>(
        _ path: WritableKeyPath<Root, Value>,
        in box: NIOLockedValueBox<Root>,
        with value: Value
    ) {
        // The old method is released outside the lock, because releasing it may call the client.
        var value = value
        box.withLockedValue { swap(&$0[keyPath: path], &value) }
    }

    // MARK: Creating

    /// Creates options for a cluster of the hosted service, over TLS: `PusherClientOptions(cluster: "eu")`.
    public convenience init(cluster: String) { self.init(endpoint: .pusher(cluster: cluster)) }

    /// Creates options for a server.
    ///
    /// ```swift
    /// let options = PusherClientOptions(endpoint: .soketi(host: "ws.example.com"))
    /// ```
    public convenience init(endpoint: PusherEndpoint) {
        self.init(Values(endpoint: endpoint), sharing: NIOLockedValueBox(Authorizing()))
    }

    /// Creates options as PusherSwift does. New code uses ``init(cluster:)`` or ``init(endpoint:)``, and sets the
    /// properties.
    ///
    /// - Parameters:
    ///   - authMethod: How private, presence and encrypted channels are authorized. Default:
    ///     ``UserAuthMethod/noMethod``.
    ///   - autoReconnect: Whether the client reconnects after losing the connection. Default: `true`.
    ///   - host: The server. Default: ``PusherHost/defaultHost``.
    ///   - port: The port. Default: 443 with TLS, 80 without.
    ///   - path: The part of the URL's path before `/app/`, with a slash at its start. Default: nothing.
    ///   - useTLS: Whether the connection is encrypted. Default: `true`.
    ///   - activityTimeout: The longest silence, in seconds, before the client pings the server. Default: 120.
    public convenience init(
        authMethod: AuthMethod = .noMethod,
        autoReconnect: Bool = true,
        host: PusherHost = .defaultHost,
        port: Int? = nil,
        path: String? = nil,
        useTLS: Bool = true,
        activityTimeout: TimeInterval? = nil
    ) {
        self.init(endpoint: PusherEndpoint(host: host.stringValue, port: port, path: path, useTLS: useTLS))
        self.authMethod = authMethod
        self.autoReconnect = autoReconnect
        self.activityTimeout = activityTimeout
    }

    /// Creates options as PusherSwift does, with one that has had no effect since its version 10.0.
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
        self[\.attemptsToReturnJSONObject] = attemptToReturnJSONObject
    }

    private static var warningsOnly: Logger {
        var logger = Logger(label: "pusher")
        logger.logLevel = .warning
        return logger
    }

    // MARK: The server

    /// The server to connect to. ``Pusher/switchTo(endpoint:key:authMethod:userAuthMethod:)`` does not change it.
    public var endpoint: PusherEndpoint {
        get { self[\.endpoint] }
        set { self[\.endpoint] = newValue }
    }

    /// The host name of the ``endpoint``.
    public var host: String { endpoint.host }
    /// The port of the ``endpoint``.
    public var port: Int { endpoint.port }
    /// The part of the URL's path before `/app/`: see ``endpoint``.
    public var path: String? { endpoint.path }
    /// Whether the connection is encrypted: see ``endpoint``.
    public var useTLS: Bool { endpoint.useTLS }

    /// Which certificates the client trusts, and which one it shows. ``TLSOptions/pins`` apply to the WebSocket only.
    /// Default: the system's trusted certificates.
    ///
    /// **Authorization requests are not pinned**: the certificates of their hosts are verified as usual, and any key is
    /// accepted. To pin those too, make the requests yourself, with ``AuthMethod/authorizer(_:)`` and
    /// ``UserAuthMethod/authenticator(_:)``.
    ///
    /// If a key is pinned, endpoints on the Pusher server's own host are refused, on any port, because pins could not
    /// be checked there. If ``authMethod`` or ``userAuthMethod`` has such an endpoint when the client is created, or in
    /// ``Pusher/switchTo(endpoint:key:authMethod:userAuthMethod:)``, the error is
    /// ``PusherClientError/Code/invalidOption``. If such an endpoint is set later, or a request builder names it, each
    /// authorization fails with ``AuthorizationError/Kind-swift.struct/invalidRequest``.
    public var tls: TLSOptions {
        get { self[\.tls] }
        set { self[\.tls] = newValue }
    }

    /// The proxy that connections and authorization requests go through. Default: the proxy that the environment names,
    /// if any.
    public var proxy: HTTPProxy {
        get { self[\.proxy] }
        set { self[\.proxy] = newValue }
    }

    /// The transports that the client may use, the preferred one first. Default: WebSocket only.
    public var transports: PusherTransports {
        get { self[\.transports] }
        set { self[\.transports] = newValue }
    }

    /// Additional headers of the WebSocket upgrade, and of the requests of HTTP transports. Default: none.
    public var headers: [String: String] {
        get { self[\.headers] }
        set { self[\.headers] = newValue }
    }

    /// Additional query items, after the client's own, in the URL of the WebSocket and of HTTP requests that receive.
    /// They are part of ``PusherConnection/url``. Default: none.
    public var queryItems: [URLQueryItem] {
        get { self[\.queryItems] }
        set { self[\.queryItems] = newValue }
    }

    /// The WebSocket subprotocol that the client offers. The server does not have to select it. Default: none.
    public var subprotocol: String? {
        get { self[\.subprotocol] }
        set { self[\.subprotocol] = newValue }
    }

    // MARK: Authorizing

    /// How private, presence and encrypted channels are authorized. You can change it at any time; authorizations that
    /// begin afterwards use the new one. Default: ``AuthMethod/noMethod``.
    public var authMethod: AuthMethod {
        get { authorizing.withLockedValue { $0.channels } }
        set { Self.replace(\.channels, in: authorizing, with: newValue) }
    }

    /// How ``Pusher/signIn()`` authenticates the user. You can change it at any time; sign-ins that begin afterwards
    /// use the new one. Default: ``AuthMethod/noMethod``.
    public var userAuthMethod: UserAuthMethod {
        get { authorizing.withLockedValue { $0.user } }
        set { Self.replace(\.user, in: authorizing, with: newValue) }
    }

    /// How long to wait before another try of an authorization, if one can help: after transport errors, timeouts, and
    /// the HTTP statuses 408, 429 and 5xx. ``Limits-swift.struct/authorizationTries`` limits the number of tries.
    /// Default: exponential with full jitter, from 0.5 s up to 5 s.
    public var authorizationRetryPolicy: any RetryPolicy {
        get { self[\.authorizationRetryPolicy] }
        set { self[\.authorizationRetryPolicy] = newValue }
    }

    // MARK: Staying connected

    /// Whether the client reconnects after losing the connection. If `false`, it never does. Default: `true`.
    public var autoReconnect: Bool {
        get { self[\.autoReconnect] }
        set { self[\.autoReconnect] = newValue }
    }

    /// How long to wait before another attempt to connect. ``PusherConnection/maxReconnectGapInSeconds`` limits the
    /// wait, if it is set. Default: exponential with full jitter, up to 30 s, without a limit of attempts.
    public var retryPolicy: any RetryPolicy {
        get { self[\.retryPolicy] }
        set { self[\.retryPolicy] = newValue }
    }

    /// The longest silence, in seconds, before the client pings the server; nil for 120. If the server announces a
    /// shorter one, that applies. Default: nil.
    public var activityTimeout: TimeInterval? {
        get { self[\.activityTimeout] }
        set { self[\.activityTimeout] = newValue }
    }

    /// The time limits.
    public var timeouts: PusherTimeouts {
        get { self[\.timeouts] }
        set { self[\.timeouts] = newValue }
    }

    // MARK: Events

    /// Where callbacks run. Default: the main queue.
    public var callbackQueue: CallbackQueue {
        get { self[\.callbackQueue] }
        set { self[\.callbackQueue] = newValue }
    }

    /// How the data of client events is encoded. Default: as JSON.
    public var clientEventEncoding: ClientEventEncoding {
        get { self[\.clientEventEncoding] }
        set { self[\.clientEventEncoding] = newValue }
    }

    /// Changes payloads between the app and the server. Default: nothing.
    public var payloadTransformer: (any PayloadTransformer)? {
        get { self[\.payloadTransformer] }
        set { self[\.payloadTransformer] = newValue }
    }

    /// The limits of everything that can grow.
    public var limits: Limits {
        get { self[\.limits] }
        set { self[\.limits] = newValue }
    }

    /// Has no effect. Kept for source compatibility with PusherSwift. ``PusherEvent/data`` is always text.
    @available(*, deprecated, message: "It has no effect: an event's data is always text.")
    public var attemptToReturnJSONObject: Bool { self[\.attemptsToReturnJSONObject] }

    // MARK: Logging

    /// Where the client writes its log. Its metadata keys start with `pusher.`; secrets are never logged, and payloads only at
    /// trace level.
    ///
    /// Default: a logger for warnings only: the first failure of an outage, refusals, subscriptions and sign-ins that
    /// fail, events that cannot be decrypted, a client that is released while it is in use, callbacks that wait for a
    /// queue that does not run, and dropped events.
    public var logger: Logger {
        get { self[\.logger] }
        set { self[\.logger] = newValue }
    }

    /// How much the client writes to its log: the level of ``logger``. Default: ``LogLevel-swift.enum/warning``.
    ///
    /// ```swift
    /// options.logLevel = .debug
    /// options.logLevel = .silent    // in tests
    /// ```
    public var logLevel: LogLevel {
        get { LogLevel(logger.logLevel) }
        set { values.withLockedValue { $0.logger.logLevel = newValue.level } }
    }
}

extension PusherClientOptions {
    /// How the data of a client event is encoded.
    public enum ClientEventEncoding: Hashable, Sendable {
        /// As a JSON value: an object stays an object. pusher-js and PusherSwift do the same.
        case json
        /// As a string with the JSON text inside; a string stays as it is. Some servers and receivers expect this.
        case string
    }

    /// How much a client writes to its log.
    public enum LogLevel: Hashable, Sendable {
        /// Nothing.
        case silent
        /// The messages for a person: see ``PusherClientOptions/logger``.
        case warning
        /// All errors too.
        case notice
        /// Every status, attempt and subscription too.
        case debug
        /// Every message too, without signatures.
        case trace

        fileprivate init(_ level: Logger.Level) {
            switch level {
            case .trace: self = .trace
            case .debug: self = .debug
            case .info, .notice: self = .notice
            case .warning: self = .warning
            case .error, .critical: self = .silent
            }
        }

        /// The client logs nothing at swift-log's levels error and critical.
        fileprivate var level: Logger.Level {
            switch self {
            case .silent: .critical
            case .warning: .warning
            case .notice: .notice
            case .debug: .debug
            case .trace: .trace
            }
        }
    }

    /// Where callbacks run: bound closures, the delegate's methods, the `on…` closures. Sequences do not use it.
    public enum CallbackQueue: Sendable {
        /// The main queue. A process that never runs it gets no callbacks; the log says so once.
        case main
        /// A queue of yours. Use a serial one; otherwise events can overtake each other.
        case queue(DispatchQueue)
        /// The client's event loop, which is the fastest. Callbacks must not block, because that blocks the socket.
        case eventLoop
    }
}

extension PusherClientOptions: CustomReflectable {
    /// An empty mirror, because headers and query items may be secret: see `dump`.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension PusherClientOptions: Hashable {
    /// Options are equal if they are the same object.
    public static func == (left: PusherClientOptions, right: PusherClientOptions) -> Bool { left === right }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
