public import Logging
import NIOPosix
import RealtimeHTTP
public import RealtimeJSON
import SignalRCore

/// A builder that makes a ``HubConnection``. Every method that sets an option returns the builder itself.
///
/// ```swift
/// let connection = HubConnectionBuilder()
///     .withUrl(url: "https://example.com/chat")
///     .withAutomaticReconnect()
///     .build()
/// ```
public final class HubConnectionBuilder {
    private var url: String?
    private var options = HttpConnectionOptions()
    private var hubProtocol = HubProtocolType.json
    private var machine = HubStateMachine.Configuration(.json)
    private var logger = HubLogger()
    private var retryPolicy: (any RetryPolicy)?
    private var resumption: StatefulReconnectOptions?
    private var invocationTimeout: Duration?
    private var messagePackKeys = MessagePackKeys.asIs
    private var jsonEncoder: (@Sendable () -> JSONEncoder)?
    private var jsonDecoder: (@Sendable () -> JSONDecoder)?
    private var decoding = HubCoder.defaultDecoding
    private var opener: (any HubTransportOpener)?
    private var connectTimeout: Duration?

    /// Creates a builder.
    public init() {}

    private func with(_ change: (HubConnectionBuilder) -> Void) -> HubConnectionBuilder {
        change(self)
        return self
    }

    // MARK: Connecting

    /// Sets the hub's URL. If the URL is missing or invalid, ``HubConnection/start()`` throws
    /// ``SignalRError/invalidUrl(_:)``.
    public func withUrl(url: String) -> HubConnectionBuilder { with { $0.url = url } }

    /// Sets the hub's URL, and the allowed transports.
    public func withUrl(url: String, transport: HttpTransportType) -> HubConnectionBuilder {
        with { builder in
            builder.url = url
            builder.options.transport = transport
        }
    }

    /// Sets the hub's URL, and the options of the connection.
    public func withUrl(url: String, options: HttpConnectionOptions) -> HubConnectionBuilder {
        with { builder in
            builder.url = url
            builder.options = options
        }
    }

    /// Sets the encoding of messages. Default: JSON.
    public func withHubProtocol(hubProtocol: HubProtocolType) -> HubConnectionBuilder {
        with { $0.hubProtocol = hubProtocol }
    }

    /// Sets the rule that converts names of properties to keys in MessagePack. Default: the names do not change.
    public func withMessagePackKeys(_ keys: MessagePackKeys) -> HubConnectionBuilder {
        with { $0.messagePackKeys = keys }
    }

    /// Sets the options of the client's own JSON decoder, which is several times as fast as a `JSONDecoder`. Default: dates
    /// of ISO 8601 with or without fractions of a second, and unchanged names.
    public func withJSONDecoding(_ options: JSONDecodingOptions) -> HubConnectionBuilder {
        with { $0.decoding = options }
    }

    /// Sets the coders for JSON. By default, the client's own coders write and read them: dates in ISO 8601, data in
    /// base64, unchanged names. See ``withJSONDecoding(_:)``.
    public func withJSONCoders(
        encoder: @escaping @Sendable () -> JSONEncoder,
        decoder: @escaping @Sendable () -> JSONDecoder
    ) -> HubConnectionBuilder {
        with { builder in
            builder.jsonEncoder = encoder
            builder.jsonDecoder = decoder
        }
    }

    // MARK: Log

    /// Sets the lowest level of the log. Default: warnings and errors, which a logger of swift-log with the label
    /// `SignalRClient` writes.
    public func withLogLevel(logLevel: LogLevel) -> HubConnectionBuilder { with { $0.logger.level = logLevel } }

    /// Sets the handler of the log. Default: if a level is set, a handler that writes to the standard output.
    public func withLogHandler(logHandler: any LogHandler) -> HubConnectionBuilder {
        with { $0.logger.handler = logHandler }
    }

    /// Writes all lines of the log to a logger of swift-log, which has its own level.
    public func withLogger(_ logger: Logger) -> HubConnectionBuilder {
        with { $0.logger = HubLogger(level: .debug, handler: SwiftLogHandler(logger)) }
    }

    // MARK: Times

    /// Sets the time limit for the server's silence, in seconds. If no message arrives within this time, the client
    /// considers the connection lost. The limit does not apply to long polling. Default: 30.
    public func withServerTimeout(serverTimeout: TimeInterval) -> HubConnectionBuilder {
        with { $0.machine.serverTimeout = Duration(clampingSeconds: serverTimeout) }
    }

    /// Sets the interval, in seconds, after which the client sends a ping if it has sent no message. With long polling,
    /// the client sends no pings. Default: 15.
    public func withKeepAliveInterval(keepAliveInterval: TimeInterval) -> HubConnectionBuilder {
        with { $0.machine.keepAliveInterval = Duration(clampingSeconds: max(keepAliveInterval, 0.001)) }
    }

    /// Sets the maximum duration of a call. After this time, `invoke` throws
    /// ``SignalRClientError/Code/callTimedOut``. The limit does not apply to `send` and to streams. Default: no limit.
    public func withInvocationTimeout(_ timeout: Duration) -> HubConnectionBuilder {
        with { $0.invocationTimeout = timeout }
    }

    // MARK: Reconnecting

    /// Makes the client reconnect after a loss. The client tries at once, and then after waits of 2, 10 and 30 seconds.
    /// The client stops after these four attempts. It does not repeat a failed ``HubConnection/start()``.
    public func withAutomaticReconnect() -> HubConnectionBuilder {
        withAutomaticReconnect(retryDelays: [0, 2, 10, 30])
    }

    /// Makes the client reconnect after a loss. Each number is the wait before an attempt, in seconds.
    public func withAutomaticReconnect(retryDelays: [TimeInterval]) -> HubConnectionBuilder {
        withAutomaticReconnect(.delays(retryDelays.map(Duration.init(clampingSeconds:)), repeatsLast: false))
    }

    /// Makes the client reconnect after a loss, with a policy that decides whether and when to try again.
    public func withAutomaticReconnect(retryPolicy: any RetryPolicy) -> HubConnectionBuilder {
        with { $0.retryPolicy = retryPolicy }
    }

    /// Makes the client reconnect after a loss. Each number is the wait before an attempt, in seconds.
    public func withAutomaticReconnect(_ retryDelays: [TimeInterval]) -> HubConnectionBuilder {
        withAutomaticReconnect(retryDelays: retryDelays)
    }

    /// Makes the client reconnect after a loss, with a policy that decides whether and when to try again.
    public func withAutomaticReconnect(_ retryPolicy: any RetryPolicy) -> HubConnectionBuilder {
        withAutomaticReconnect(retryPolicy: retryPolicy)
    }

    /// Makes the client resume the same connection after the loss of a WebSocket, if the server permits it. After the
    /// client has resumed the connection, calls and streams continue, and no message is lost. With
    /// ``HttpConnectionOptions/skipNegotiation``, the option has no effect.
    public func withStatefulReconnect() -> HubConnectionBuilder {
        withStatefulReconnect(options: StatefulReconnectOptions())
    }

    /// Makes the client resume the same connection after the loss of a WebSocket, if the server permits it.
    public func withStatefulReconnect(options: StatefulReconnectOptions) -> HubConnectionBuilder {
        with { $0.resumption = options }
    }

    /// Sets how the client refreshes tokens that expire, if the hub names their lifetime. Default: the client asks the
    /// ``HttpConnectionOptions/accessTokenFactory`` 5 minutes before the expiry, or after half of a shorter lifetime.
    public func withAuthenticationRefresh(options: AuthenticationRefreshOptions) -> HubConnectionBuilder {
        with { builder in
            builder.machine.refreshesAuthentication = options.isAutomatic
            builder.machine.refreshLead = max(options.refreshBeforeExpiration, .zero)
        }
    }

    /// Sets the time limit for closing the transport, for tests.
    package func withCloseTimeout(_ timeout: Duration) -> HubConnectionBuilder {
        with { $0.machine.closeTimeout = timeout }
    }

    /// Sets the time limit for each connection, for tests.
    package func withConnectTimeout(_ timeout: Duration) -> HubConnectionBuilder {
        with { $0.connectTimeout = timeout }
    }

    /// Replaces the network, for tests.
    package func withOpener(_ opener: any HubTransportOpener) -> HubConnectionBuilder { with { $0.opener = opener } }

    // MARK: Building

    /// Makes the connection. The connection starts with ``HubConnection/start()``.
    public func build() -> HubConnection {
        let coder: HubCoder =
            switch hubProtocol {
            case .json: HubCoder(jsonEncoder?(), jsonDecoder?(), decoding: decoding)
            case .messagePack: HubCoder(messagePack: messagePackKeys)
            }
        var logger = logger
        if let level = options.logLevel { logger.level = logger.level ?? level }
        if let handler = options.logHandler { logger.handler = handler }
        if resumption != nil, options.skipNegotiation {
            logger.log(.warning, "Without a negotiation, there is no stateful reconnect, so the option has no effect.")
        }
        var configuration = machine
        configuration.hubProtocol = coder.hubProtocol
        configuration.reconnects = retryPolicy != nil
        configuration.maximumMessageSize = options.maximumMessageSize
        if let size = resumption?.bufferSize { configuration.resumptionBufferSize = size }
        var options = options
        options.connectTimeout = connectTimeout ?? options.connectTimeout
        let opener =
            opener
            ?? HttpConnector(url ?? "", options, coder.hubProtocol, logger: logger)
        let origin = ContinuousClock.now
        return HubConnection(
            HubEngine(
                HubEngine.Options(
                    machine: configuration,
                    coder: coder,
                    retryPolicy: retryPolicy,
                    wantsResumption: resumption != nil,
                    invocationTimeout: invocationTimeout,
                    receiveBufferSize: options.receiveBufferSize,
                    uploadBufferSize: options.uploadBufferSize,
                    logger: logger,
                    logsContent: options.logMessageContent ?? false
                ),
                opener: opener,
                on: MultiThreadedEventLoopGroup.singleton.next(),
                now: { ContinuousClock.now - origin }
            )
        )
    }
}

extension HubConnectionBuilder: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The hub's URL without user, password and query. The options may be secret.
    public var description: String { "HubConnectionBuilder(\(HTTPRequest.printable(url: url ?? "")))" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
