public import Dispatch
public import Foundation
public import Logging
import NIOConcurrencyHelpers
import PusherCore

/// The options of a ``Pusher``: a server, and properties with defaults.
///
/// ```swift
/// let options = PusherClientOptions(cluster: "eu")
/// options.authMethod = .endpoint("https://example.com/pusher/auth")
/// options.retryPolicy = .exponential(cap: .seconds(10))
/// let pusher = Pusher(key: "app-key", options: options)
/// ```
///
/// A new client copies the values of the properties. ``authMethod`` and ``userAuthMethod`` are exceptions. Setting them
/// later affects all clients that your code has created with this object.
///
/// Invalid values do not trap. The client makes no attempt. ``Pusher/connected(timeout:)``, ``Pusher/errors`` and the
/// delegate report which value is invalid and why.
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
        var retryPolicy = standardRetryPolicy
        var requestRetryPolicy = standardRetryPolicy
        var clientEventEncoding = ClientEventEncoding.json
        var payloadTransformer: (any PayloadTransformer)?
        var secretBox: (any PusherSecretBox)?
        var decoding = JSONDecodingOptions()
        var tls = TLSOptions()
        var proxy = HTTPProxy.environment
        var transports = PusherTransports.webSocket
        var headers: [String: String] = [:]
        var queryItems: [URLQueryItem] = []
        var subprotocol: String?
        var limits = Limits()
        var callbackQueue = CallbackQueue.main
        var logger = warningsOnly
        var makeEnvironment: (@Sendable (PusherClientOptions) -> ClientEngine.Environment)?
    }

    // All options with the defaults share the memory of the policy.
    private static let standardRetryPolicy: any RetryPolicy = .exponential()

    /// The methods of authorization. An options object and its copies in clients share the methods.
    private let authorizing: NIOLockedValueBox<Authorizing>
    /// The other values. An options object and its copies share their memory until one of them changes.
    private let values: NIOLockedValueBox<Box<Values>>

    private init(_ values: Box<Values>, sharing authorizing: NIOLockedValueBox<Authorizing>) {
        self.authorizing = authorizing
        self.values = NIOLockedValueBox(values)
    }

    /// Makes the client's own copy. Later changes of the original do not affect the copy, except for the methods of
    /// authorization.
    func copyForClient() -> PusherClientOptions {
        PusherClientOptions(values.withLockedValue { $0 }, sharing: authorizing)
    }

    private subscript<Value>(path: WritableKeyPath<Values, Value>) -> Value {
        get { values.withLockedValue { $0.value[keyPath: path] } }
        set { Self.replace(with: newValue, in: values) { swap(&$0.value[keyPath: path], &$1) } }
    }

    private static func replace<Root, Value>(
        with value: Value,
        in box: NIOLockedValueBox<Root>,
        _ swap: (inout Root, inout Value) -> Void
    ) {
        // Release the old value outside the lock, because releasing it may call the client.
        var value = value
        box.withLockedValue { swap(&$0, &value) }
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
        self.init(Box(Values(endpoint: endpoint)), sharing: NIOLockedValueBox(Authorizing()))
    }

    /// Creates options as PusherSwift does. New code uses ``init(cluster:)`` or ``init(endpoint:)``, and sets the
    /// properties.
    ///
    /// - Parameters:
    ///   - authMethod: The method of authorization for private, presence and encrypted channels. Default:
    ///     ``AuthMethod/noMethod``.
    ///   - autoReconnect: Whether the client reconnects after losing the connection. Default: `true`.
    ///   - host: The server. Default: ``PusherHost/defaultHost``.
    ///   - port: The port. Default: 443 with TLS, 80 without.
    ///   - path: The part of the URL's path before `/app/`, with a leading slash. Default: nothing.
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

    /// Creates options as PusherSwift does, with a parameter that has had no effect since PusherSwift 10.0.
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

    /// The certificates that the client trusts, and the certificate that it sends to the server. Default: the system's
    /// trusted certificates.
    ///
    /// The options apply to the connection and to authorization requests. If you pin keys, add the keys of your
    /// authorization endpoints to ``TLSOptions/pins``. A server whose key is not pinned gets no request.
    public var tls: TLSOptions {
        get { self[\.tls] }
        set { self[\.tls] = newValue }
    }

    /// The proxy for connections and authorization requests. Default: the proxy of the environment, if any.
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
    /// The items are part of ``PusherConnection/url``. Default: none.
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

    /// The method of authorization for private, presence and encrypted channels. You can change it at any time.
    /// Authorizations that begin afterwards use the new method. Default: ``AuthMethod/noMethod``.
    public var authMethod: AuthMethod {
        get { authorizing.withLockedValue { $0.channels } }
        set { Self.replace(with: newValue, in: authorizing) { swap(&$0.channels, &$1) } }
    }

    /// The method by which ``Pusher/signIn()`` authenticates the user. You can change it at any time. Sign-ins that
    /// begin afterwards use the new method. Default: ``UserAuthMethod/noMethod``.
    public var userAuthMethod: UserAuthMethod {
        get { authorizing.withLockedValue { $0.user } }
        set { Self.replace(with: newValue, in: authorizing) { swap(&$0.user, &$1) } }
    }

    /// The policy that decides when the client tries again to get what the app wants on a connection: authorizations,
    /// subscriptions, keys of encrypted channels, and the sign-in.
    ///
    /// The client tries again after failures that may pass: no connection to the endpoint, a timeout, the HTTP statuses
    /// 408, 425, 429 and 5xx, an error of your authorizer, or no answer of the Pusher server. It never waits for less than
    /// the endpoint's `Retry-After`. It does not ask the policy after failures that cannot pass: the statuses 401 and 403,
    /// an invalid answer, or a refusal of the Pusher server. If the policy returns nil, the failure is final too. The
    /// client starts again on the next connection. Default: exponential with full jitter, up to 30 s, without a limit on
    /// tries.
    public var requestRetryPolicy: any RetryPolicy {
        get { self[\.requestRetryPolicy] }
        set { self[\.requestRetryPolicy] = newValue }
    }

    // MARK: Staying connected

    /// Whether the client reconnects after losing the connection. If `false`, the client stops after the first loss or
    /// failed attempt. Default: `true`.
    public var autoReconnect: Bool {
        get { self[\.autoReconnect] }
        set { self[\.autoReconnect] = newValue }
    }

    /// The policy that decides when the client tries again to connect. ``PusherConnection/maxReconnectGapInSeconds``
    /// limits the wait. Default: exponential with full jitter, up to 30 s, without a limit on attempts.
    public var retryPolicy: any RetryPolicy {
        get { self[\.retryPolicy] }
        set { self[\.retryPolicy] = newValue }
    }

    /// The longest silence, in seconds, before the client pings the server. If the server announces a shorter time, the
    /// shorter time applies. Nil means 120. Default: nil.
    public var activityTimeout: TimeInterval? {
        get { self[\.activityTimeout] }
        set { self[\.activityTimeout] = newValue }
    }

    /// The time limits of attempts, answers and closing handshakes.
    public var timeouts: PusherTimeouts {
        get { self[\.timeouts] }
        set { self[\.timeouts] = newValue }
    }

    // MARK: Events

    /// The queue on which callbacks run. Default: the main queue.
    public var callbackQueue: CallbackQueue {
        get { self[\.callbackQueue] }
        set { self[\.callbackQueue] = newValue }
    }

    /// The environment of a client in virtual time; nil for the network and the system's clock.
    package var makeEnvironment: (@Sendable (PusherClientOptions) -> ClientEngine.Environment)? {
        get { self[\.makeEnvironment] }
        set { self[\.makeEnvironment] = newValue }
    }

    /// The encoding of the data of client events. Default: JSON.
    public var clientEventEncoding: ClientEventEncoding {
        get { self[\.clientEventEncoding] }
        set { self[\.clientEventEncoding] = newValue }
    }

    /// The transformer that changes payloads between the app and the server. Default: none.
    public var payloadTransformer: (any PayloadTransformer)? {
        get { self[\.payloadTransformer] }
        set { self[\.payloadTransformer] = newValue }
    }

    /// Your code that opens the boxes of encrypted channels. A build without libsodium needs it for these channels. If
    /// you set it, the client uses it in every build. Default: none, so libsodium opens them.
    public var secretBox: (any PusherSecretBox)? {
        get { self[\.secretBox] }
        set { self[\.secretBox] = newValue }
    }

    /// The options for decoding events, members' information and the user's data as your own types, if you pass no
    /// `JSONDecoder`. Default: names and dates as in a new `JSONDecoder`.
    ///
    /// ```swift
    /// options.decoding.keys = .convertFromSnakeCase
    /// options.decoding.dates = .iso8601
    /// ```
    public var decoding: JSONDecodingOptions {
        get { self[\.decoding] }
        set { self[\.decoding] = newValue }
    }

    /// The limits for everything whose size or number can grow.
    public var limits: Limits {
        get { self[\.limits] }
        set { self[\.limits] = newValue }
    }

    /// Has no effect. Kept for source compatibility with PusherSwift. ``PusherEvent/data`` is always text.
    @available(*, deprecated, message: "It has no effect: an event's data is always text.")
    public var attemptToReturnJSONObject: Bool { self[\.attemptsToReturnJSONObject] }

    // MARK: Logging

    /// The logger to which the client writes. The metadata keys start with `pusher.`. The client never logs secrets,
    /// and logs payloads only at trace level.
    ///
    /// Default: a logger for warnings only, about:
    ///
    /// - the first failure of an outage, the end of an outage, and a client that stops
    /// - subscriptions and sign-ins that fail, and calls that wait although ``Pusher/connect()`` was not called
    /// - events that cannot be sent, decrypted or decoded, and failures of a ``PayloadTransformer``
    /// - a client that is released while it is in use
    /// - callbacks that are not bound or wait for a queue that does not run, and dropped events
    /// - calls of `subscribe` that are probably mistakes
    public var logger: Logger {
        get { self[\.logger] }
        set { self[\.logger] = newValue }
    }

    /// The level of ``logger``. Default: ``LogLevel-swift.enum/warning``.
    ///
    /// ```swift
    /// options.logLevel = .debug
    /// options.logLevel = .silent    // in tests
    /// ```
    public var logLevel: LogLevel {
        get { LogLevel(logger.logLevel) }
        set { values.withLockedValue { $0.value.logger.logLevel = newValue.level } }
    }
}

extension PusherClientOptions {
    /// The encoding of a client event's data.
    public enum ClientEventEncoding: Hashable, Sendable {
        /// A JSON value: an object stays an object. pusher-js and PusherSwift do the same.
        case json
        /// A string that contains the JSON text. A value that is a string stays unchanged. Some servers and receivers
        /// expect this form.
        case string
    }

    /// The amount of text that a client writes to its log.
    public enum LogLevel: Hashable, Sendable {
        /// Nothing.
        case silent
        /// Only the messages that a person must see: see ``PusherClientOptions/logger``.
        case warning
        /// All errors too.
        case notice
        /// Every status, attempt and subscription, in addition to the errors.
        case debug
        /// Every message without its signatures, in addition to all other lines.
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

    /// The queue on which callbacks run: bound closures, the delegate's methods, the `on…` closures. Sequences do not
    /// use it.
    public enum CallbackQueue: Sendable {
        /// The main queue. A process that never runs the main queue gets no callbacks. The client logs a warning once.
        case main
        /// Your own queue. Use a serial queue. On a concurrent queue, callbacks may run out of order.
        case queue(DispatchQueue)
        /// The client's event loop. This is the fastest choice. Callbacks must not block, because they would block the
        /// connection.
        case eventLoop
    }
}

extension PusherClientOptions: CustomReflectable {
    /// An empty mirror, so that `dump` does not show headers and query items, which may be secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension PusherClientOptions: Hashable {
    /// Returns whether both values are the same options object.
    public static func == (left: PusherClientOptions, right: PusherClientOptions) -> Bool { left === right }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
