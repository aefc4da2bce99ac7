public import Logging
import NIOConcurrencyHelpers
public import NIOCore
public import NIOPosix

/// A WebSocket that reconnects after the connection was lost.
///
/// ```swift
/// let webSocket = try ReconnectingWebSocket(to: "wss://example.com/prices")
/// webSocket.connect()
/// for try await message in webSocket.messages {
///     update(with: message)
/// }
/// ```
/// The client sends a heartbeat if nothing has arrived for a while, so that it detects a dead connection. Messages that
/// you send while there is no connection wait for the next one. It stops if you call ``close(code:reason:)``, if the
/// retry policy stops, or if the last reference to it and to its ``messages`` is released.
public final class ReconnectingWebSocket: Sendable {
    /// The state of the WebSocket.
    public enum State: Hashable, Sendable {
        /// ``ReconnectingWebSocket/connect()`` has not been called.
        case idle
        /// It is connecting. Attempts count from 1.
        case connecting(attempt: Int)
        /// The connection is open.
        case open
        /// It will connect again after a delay.
        case waiting(attempt: Int, delay: Duration, reason: WebSocketError)
        /// Your code has closed the connection, and the server has not answered yet.
        case closing
        /// Closed by your code, or because the retry policy stopped.
        case closed(WebSocketClosure)
    }

    /// How the client detects that a connection is dead.
    public enum Heartbeat: Hashable, Sendable {
        /// It does not.
        case off
        /// It sends a WebSocket ping if nothing has arrived for the interval. If nothing arrives within the timeout after
        /// that, the connection is lost.
        case ping(interval: Duration, timeout: Duration)
        /// It sends a text message instead of a ping, for servers whose protocol has its own heartbeat. The server's
        /// answer arrives in ``ReconnectingWebSocket/messages``.
        case text(String, interval: Duration, timeout: Duration)

        /// A ping after 30 seconds, and a timeout of 10 seconds.
        public static var `default`: Heartbeat { .ping(interval: .seconds(30), timeout: .seconds(10)) }

        var interval: Duration? {
            switch self {
            case .off: nil
            case .ping(let interval, _), .text(_, let interval, _): max(interval, .milliseconds(1))
            }
        }

        var timeout: Duration {
            switch self {
            case .off: .zero
            case .ping(_, let timeout), .text(_, _, let timeout): max(timeout, .milliseconds(1))
            }
        }
    }

    /// How a reconnecting WebSocket behaves.
    public struct Options: Sendable {
        /// Timeouts, limits, TLS and proxy of each connection.
        public var connection: WebSocketOptions
        /// How long to wait before another attempt. It gets the reason, a ``WebSocketError``, and can stop. The default
        /// never stops: it waits 1 second, doubled up to 30 seconds, with full jitter. The client does not call it
        /// after errors that every attempt would have, for example an invalid header.
        public var retryPolicy: any RetryPolicy
        /// How the client detects that a connection is dead. Default: ``Heartbeat/default``.
        public var heartbeat: Heartbeat
        /// How long a connection must have been open before the retry policy starts again from its first delay.
        /// Default: 10 seconds.
        public var backOffReset: Duration
        /// Makes the first messages of each connection, for example to log in or to subscribe. They are sent before
        /// waiting messages. The client calls it on its event loop, so it must not block. Default: none.
        public var openingMessages: @Sendable () -> [WebSocketMessage]
        /// How many messages may wait for a connection. Default: 100.
        public var maximumQueuedMessages: Int
        /// How many bytes of messages may wait for a connection. Default: 1 MiB.
        public var maximumQueuedBytes: Int
        /// The logger. The client logs at debug level. Default: nil, no log.
        public var logger: Logger

        /// Creates options.
        public init(
            connection: WebSocketOptions = WebSocketOptions(),
            retryPolicy: any RetryPolicy = .exponential(),
            heartbeat: Heartbeat = .default,
            backOffReset: Duration = .seconds(10),
            openingMessages: @escaping @Sendable () -> [WebSocketMessage] = { [] },
            maximumQueuedMessages: Int = 100,
            maximumQueuedBytes: Int = 1 << 20,
            logger: Logger = Logger(label: "websocket", factory: { _ in SwiftLogNoOpLogHandler() })
        ) {
            self.connection = connection
            self.retryPolicy = retryPolicy
            self.heartbeat = heartbeat
            self.backOffReset = backOffReset
            self.openingMessages = openingMessages
            self.maximumQueuedMessages = maximumQueuedMessages
            self.maximumQueuedBytes = maximumQueuedBytes
            self.logger = logger
        }
    }

    private let session: ReconnectingSession

    /// Creates a WebSocket for a URL. It does not connect yet.
    ///
    /// - Parameters:
    ///   - url: A `ws` or `wss` URL.
    ///   - subprotocols: The subprotocols that the client offers, in order of preference. Default: none.
    ///   - headers: Additional header fields of the upgrade request. Default: none.
    ///   - options: How it behaves.
    ///   - eventLoopGroup: The threads of the connections: a `MultiThreadedEventLoopGroup`, or another group that can
    ///     open sockets. Shut it down only after the WebSocket is released. Default: the process's shared group.
    /// - Throws: ``WebSocketError`` if the URL or an option is invalid.
    public convenience init(
        to url: String,
        subprotocols: [String] = [],
        headers: [WebSocketRequest.Header] = [],
        options: Options = Options(),
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) throws(WebSocketError) {
        let request = try WebSocketRequest(url: url, subprotocols: subprotocols, headers: headers)
        let connector = WebSocketConnector(options.connection, proxies: ProxyRules(options.connection.proxy))
        try connector.check(request)
        do throws(NetworkError) {
            try options.connection.tls.validate()
        } catch {
            throw WebSocketError(error)
        }
        self.init(connector, options, eventLoopGroup) { request }
    }

    /// Creates a WebSocket that asks for the request before each attempt, for example because a token in it expires.
    ///
    /// - Parameters:
    ///   - options: How it behaves.
    ///   - eventLoopGroup: The threads of the connections: a `MultiThreadedEventLoopGroup`, or another group that can
    ///     open sockets. Shut it down only after the WebSocket is released. Default: the process's shared group.
    ///   - request: Returns the server, and what the upgrade request contains. If it throws, or takes longer than
    ///     ``WebSocketOptions/connectTimeout`` together with the connection, the attempt fails.
    public convenience init(
        options: Options = Options(),
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        request: @escaping @Sendable () async throws -> WebSocketRequest
    ) {
        let connector = WebSocketConnector(options.connection, proxies: ProxyRules(options.connection.proxy))
        self.init(connector, options, eventLoopGroup, request)
    }

    private init(
        _ connector: WebSocketConnector,
        _ options: Options,
        _ eventLoopGroup: any EventLoopGroup,
        _ request: @escaping @Sendable () async throws -> WebSocketRequest
    ) {
        session = ReconnectingSession(options, on: eventLoopGroup.next(), request: request) {
            connector.connect(to: $0, on: $1, receive: $2)
        }
    }

    deinit { session.release() }

    /// Starts connecting, and returns at once. It has no effect if it, or ``close(code:reason:)``, was called before.
    public func connect() { session.connect() }

    /// The current state of the WebSocket.
    public var state: State { session.state }

    /// The current state, and each change of it. The sequence keeps the newest 256 states for a consumer that is
    /// slower, and ends after ``State/closed(_:)``.
    public var states: AsyncStream<State> { session.states() }

    /// The messages of all connections, in order. See ``WebSocketMessages``.
    ///
    /// The sequence continues after the loss of a connection. ``states`` shows where messages may be missing. It ends
    /// when the WebSocket is closed, and throws if the retry policy stopped.
    public var messages: WebSocketMessages { WebSocketMessages(buffer: session.buffer, owner: self) }

    /// Sends a message, and returns when its bytes are handed to the operating system.
    ///
    /// If there is no connection, the message waits for the next one. If the connection is lost during the write, the
    /// message is not sent again, because the server may have received it. The call throws.
    ///
    /// - Throws: ``WebSocketError`` of code ``WebSocketError/Code/connectionClosed`` if the WebSocket is closed or the
    ///   connection is lost, ``WebSocketError/Code/sendQueueFull`` if too many messages wait; `CancellationError` if the task
    ///   is cancelled while the message waits for a connection.
    public func send(_ message: WebSocketMessage) async throws { try await session.send(message) }

    /// Sends a text message. See ``send(_:)-(WebSocketMessage)``.
    public func send(_ text: String) async throws { try await session.send(.text(text)) }

    /// Sends a binary message. See ``send(_:)-(WebSocketMessage)``.
    public func send(_ bytes: [UInt8]) async throws { try await session.send(.binary(bytes)) }

    /// Closes the WebSocket for good, and returns how it ended. Waiting messages fail.
    ///
    /// - Parameters:
    ///   - code: 1000 to 1003, 1007 to 1014, or an app's own code from 3000 to 4999. Default: 1000.
    ///   - reason: A text for the server. It is cut to 123 bytes. Default: none.
    /// - Throws: ``WebSocketError`` of code ``WebSocketError/Code/invalidCloseCode``. In that case the WebSocket stays
    ///   open.
    @discardableResult
    public func close(
        code: WebSocketCloseCode = .normalClosure,
        reason: String = ""
    ) async throws(WebSocketError) -> WebSocketClosure {
        try code.check()
        session.close(code: code, reason: reason)
        return await session.closed()
    }
}
