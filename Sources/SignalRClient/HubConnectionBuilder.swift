public import Logging
import NIOPosix
import SignalRCore

/// Makes a ``HubConnection``. Every method returns the builder itself.
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
    private var invocationTimeout: TimeInterval?
    private var messagePackKeys = MessagePackKeys.asIs
    private var jsonEncoder: @Sendable () -> JSONEncoder = HubCoder.makeJSONEncoder
    private var jsonDecoder: @Sendable () -> JSONDecoder = HubCoder.makeJSONDecoder
    private var opener: (any HubTransportOpener)?

    /// Creates a builder.
    public init() {}

    private func with(_ change: (HubConnectionBuilder) -> Void) -> HubConnectionBuilder {
        change(self)
        return self
    }

    // MARK: Where and how to connect

    /// Sets the hub's URL. If it is missing or invalid, ``HubConnection/start()`` throws ``SignalRError/invalidUrl(_:)``.
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

    /// Sets how messages are encoded. Default: JSON.
    public func withHubProtocol(hubProtocol: HubProtocolType) -> HubConnectionBuilder {
        with { $0.hubProtocol = hubProtocol }
    }

    /// Sets how names of properties become keys in MessagePack. Default: they do not change.
    public func withMessagePackKeys(_ keys: MessagePackKeys) -> HubConnectionBuilder {
        with { $0.messagePackKeys = keys }
    }

    /// Sets the coders for JSON. By default, dates have the form of ISO 8601, data is base64, and names do not change.
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

    /// Sets the lowest level that is logged. By default, nothing is logged.
    public func withLogLevel(logLevel: LogLevel) -> HubConnectionBuilder { with { $0.logger.level = logLevel } }

    /// Sets the handler of the log. Default: the standard output.
    public func withLogHandler(logHandler: any LogHandler) -> HubConnectionBuilder {
        with { $0.logger.handler = logHandler }
    }

    /// Writes all lines of the log to a logger of swift-log, which has its own level.
    public func withLogger(_ logger: Logger) -> HubConnectionBuilder {
        with { $0.logger = HubLogger(level: .debug, handler: SwiftLogHandler(logger)) }
    }

    // MARK: Times

    /// Sets how long the server may be silent, in seconds, before the client considers the connection lost. Default:
    /// 30.
    public func withServerTimeout(serverTimeout: TimeInterval) -> HubConnectionBuilder {
        with { $0.machine.serverTimeout = Duration(clampingSeconds: serverTimeout) }
    }

    /// Sets after how many seconds without a message the client sends a ping. Default: 15.
    public func withKeepAliveInterval(keepAliveInterval: TimeInterval) -> HubConnectionBuilder {
        with { $0.machine.keepAliveInterval = Duration(clampingSeconds: max(keepAliveInterval, 0.001)) }
    }

    /// Sets how long a call waits for its result, in seconds, before it throws
    /// ``SignalRClientError/Code/callTimedOut``. Streams are not affected. Default: without end.
    public func withInvocationTimeout(_ timeout: TimeInterval) -> HubConnectionBuilder {
        with { $0.invocationTimeout = timeout }
    }

    // MARK: Reconnecting

    /// Reconnects after a loss: at once, then after 2, 10 and 30 seconds. ``HubConnection/start()`` is never repeated.
    public func withAutomaticReconnect() -> HubConnectionBuilder { withAutomaticReconnect(.delays([0, 2, 10, 30])) }

    /// Reconnects after a loss. Before each attempt, the client waits this many seconds.
    public func withAutomaticReconnect(retryDelays: [TimeInterval]) -> HubConnectionBuilder {
        withAutomaticReconnect(.delays(retryDelays))
    }

    /// Reconnects after a loss, as a policy decides.
    public func withAutomaticReconnect(retryPolicy: any RetryPolicy) -> HubConnectionBuilder {
        with { $0.retryPolicy = retryPolicy }
    }

    /// Reconnects after a loss. Before each attempt, the client waits this many seconds.
    public func withAutomaticReconnect(_ retryDelays: [TimeInterval]) -> HubConnectionBuilder {
        withAutomaticReconnect(retryDelays: retryDelays)
    }

    /// Reconnects after a loss, as a policy decides.
    public func withAutomaticReconnect(_ retryPolicy: any RetryPolicy) -> HubConnectionBuilder {
        withAutomaticReconnect(retryPolicy: retryPolicy)
    }

    /// Continues the same connection after the loss of a WebSocket, if the server permits it. Calls and streams
    /// survive, and no message is lost.
    public func withStatefulReconnect() -> HubConnectionBuilder {
        withStatefulReconnect(options: StatefulReconnectOptions())
    }

    /// Continues the same connection after the loss of a WebSocket, if the server permits it.
    public func withStatefulReconnect(options: StatefulReconnectOptions) -> HubConnectionBuilder {
        with { $0.resumption = options }
    }

    /// Sets how long the transport may take to close, for tests.
    package func withCloseTimeout(_ timeout: Duration) -> HubConnectionBuilder {
        with { $0.machine.closeTimeout = timeout }
    }

    /// Replaces the network, for tests.
    package func withOpener(_ opener: any HubTransportOpener) -> HubConnectionBuilder { with { $0.opener = opener } }

    // MARK: Building

    /// Makes the connection. It does not connect before ``HubConnection/start()``.
    public func build() -> HubConnection {
        let coder: HubCoder =
            switch hubProtocol {
            case .json: HubCoder(json: jsonEncoder(), jsonDecoder())
            case .messagePack: HubCoder(messagePack: messagePackKeys)
            }
        var logger = logger
        if let level = options.logLevel { logger.level = logger.level ?? level }
        if let handler = options.logHandler { logger.handler = handler }
        var configuration = machine
        configuration.hubProtocol = coder.hubProtocol
        configuration.reconnects = retryPolicy != nil
        configuration.maximumMessageSize = options.maximumMessageSize
        if let size = resumption?.bufferSize { configuration.resumptionBufferSize = size }
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
                    invocationTimeout: invocationTimeout.map(Duration.init(clampingSeconds:)),
                    receiveBufferSize: options.receiveBufferSize,
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
