public import Logging
import NIOConcurrencyHelpers
public import NIOCore
public import NIOPosix
import RealtimeNetworking

/// A WebSocket that reconnects after the connection was lost.
///
/// ```swift
/// let webSocket = ReconnectingWebSocket(to: "wss://example.com/prices")
/// webSocket.connect()
/// for try await message in webSocket.messages {
///     update(with: message)
/// }
/// ```
///
/// To detect a dead connection, the client sends a heartbeat if nothing has arrived for a while. After the computer was
/// suspended, the client sends a heartbeat within seconds. If you send a message while there is no connection, the
/// message waits for the next connection.
///
/// The client stops when your code calls ``close(code:reason:)``, when the retry policy returns `nil`, or when every
/// attempt would fail with the same error. The client also stops when your code releases the last reference to the
/// client and to its ``messages``.
public final class ReconnectingWebSocket: Sendable {
    /// The state of the WebSocket.
    public enum State: Hashable, Sendable {
        /// Your code has not called ``ReconnectingWebSocket/connect()``.
        case idle
        /// The client is connecting. The first attempt has the number 1.
        case connecting(attempt: Int)
        /// The connection is open.
        case open
        /// The client waits before it reconnects. The next attempt has the number `attempt`, and begins at `until`. To
        /// display the time, use ``remaining(at:)``.
        case waiting(until: ContinuousClock.Instant, attempt: Int, reason: WebSocketError)
        /// Your code has closed the WebSocket, and the server has not answered yet.
        case closing
        /// The client does not connect again. Your code closed the WebSocket, the retry policy returned `nil`, or every
        /// attempt would fail with the same error. The value is the reason; `nil` if your code closed the WebSocket. If the
        /// server did not answer the close frame in time, the reason has the code
        /// ``WebSocketError/Code/connectionClosed``.
        case closed(WebSocketError?)

        /// Returns the time until the next attempt. The time is zero if the attempt is due, and `nil` if the client
        /// does not wait.
        ///
        /// - Parameter now: The time from which to count. Default: now.
        public func remaining(at now: ContinuousClock.Instant = .now) -> Duration? {
            guard case .waiting(let until, _, _) = self else { return nil }
            return max(until - now, .zero)
        }
    }

    /// The way in which the client detects a dead connection.
    ///
    /// The client sends a heartbeat each time nothing has arrived for the interval. A fixed heartbeat is sent at each
    /// interval, even while data arrives. If nothing arrives within the timeout after a heartbeat, the client considers
    /// the connection lost. The timeout may be longer than the interval. Meanwhile, the client sends further heartbeats.
    ///
    /// After a suspension of the computer, the client sends a heartbeat at once. Data may then have waited in a buffer
    /// since before the connection died. So only a pong answers a ``ping(interval:timeout:isFixed:)``. After a
    /// ``text(_:interval:timeout:isFixed:)``, any data counts as the answer, because the client doesn't know the server's
    /// protocol. So the client can notice a dead connection later.
    public enum Heartbeat: Hashable, Sendable {
        /// The client does not detect a dead connection.
        case off
        /// The heartbeat is a WebSocket ping.
        case ping(interval: Duration, timeout: Duration, isFixed: Bool = false)
        /// The heartbeat is a text message. Use this case if the server's protocol has its own heartbeat. The server's
        /// answer arrives in ``ReconnectingWebSocket/messages``.
        case text(String, interval: Duration, timeout: Duration, isFixed: Bool = false)

        /// A ping after 30 seconds without data, with a timeout of 10 seconds.
        public static var `default`: Heartbeat { .ping(interval: .seconds(30), timeout: .seconds(10)) }

        var interval: Duration? {
            switch self {
            case .off: nil
            case .ping(let interval, _, _), .text(_, let interval, _, _): max(interval, .milliseconds(1))
            }
        }

        var timeout: Duration {
            switch self {
            case .off: .zero
            case .ping(_, let timeout, _), .text(_, _, let timeout, _): max(timeout, .milliseconds(1))
            }
        }

        var isFixed: Bool {
            switch self {
            case .off: false
            case .ping(_, _, let isFixed), .text(_, _, _, let isFixed): isFixed
            }
        }

        /// The text message; `nil` for a ping.
        var text: String? { if case .text(let text, _, _, _) = self { text } else { nil } }
    }

    /// The options of a reconnecting WebSocket.
    public struct Options: Sendable {
        /// The timeouts, limits, TLS and proxy of each connection.
        public var connection = WebSocketOptions()
        /// The policy that decides how long to wait before another attempt. The policy gets the reason, which is a
        /// ``WebSocketError``, and can stop the client. The default policy never stops. Its random waits have a maximum
        /// that doubles from 1 to 30 seconds. If a server refuses the upgrade, the client waits for at least the time in
        /// `Retry-After`, up to a day. If every attempt would fail with the same error, for example because of
        /// an invalid header, the client stops without calling the policy.
        public var retryPolicy: any RetryPolicy = .exponential()
        /// The way in which the client detects a dead connection. Default: ``Heartbeat/default``.
        public var heartbeat = Heartbeat.default
        /// The time after which an open connection resets the number of attempts. Default: 10 seconds.
        public var backOffReset = Duration.seconds(10)
        /// The closure that makes the first messages of each connection, for example to log in or to subscribe. The
        /// client sends these messages before the messages that waited for a connection. The client calls the closure
        /// on its event loop, so the closure must not block. Default: no messages.
        public var openingMessages: @Sendable () -> [WebSocketMessage] = { [] }
        /// The maximum number of messages that can wait for a connection. Default: 100.
        public var maximumQueuedMessages = 100
        /// The maximum number of bytes of the messages that wait for a connection. Default: 1 MiB.
        public var maximumQueuedBytes = 1 << 20
        /// The logger of the client. The client logs at debug level. Default: a logger that discards everything.
        public var logger = Logger(label: "websocket", factory: { _ in SwiftLogNoOpLogHandler() })

        /// Creates options with their defaults.
        public init() {}
    }

    private let session: ReconnectingSession

    /// Creates a WebSocket for a URL, without connecting.
    ///
    /// - Parameters:
    ///   - url: A `ws` or `wss` URL. If the URL or an option is invalid, the client makes no attempt, and stops with the
    ///     reason when it connects.
    ///   - subprotocols: The subprotocols that the client offers, in order of preference. Default: none.
    ///   - headers: Additional header fields of the upgrade request. Default: none.
    ///   - options: The options of the WebSocket.
    ///   - eventLoopGroup: The threads of the connections: a `MultiThreadedEventLoopGroup`, or another group that can
    ///     open sockets. Shut the group down only after the WebSocket is released. Default: the process's shared group.
    public convenience init(
        to url: String,
        subprotocols: [String] = [],
        headers: HTTPHeaderFields = [:],
        options: Options = Options(),
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) {
        self.init(options: options, eventLoopGroup: eventLoopGroup) {
            try WebSocketRequest(url: url, subprotocols: subprotocols, headers: headers)
        }
    }

    /// Creates a WebSocket that calls a closure before each attempt, to make the request. Use this initializer if the
    /// request contains a token that expires.
    ///
    /// - Parameters:
    ///   - options: The options of the WebSocket.
    ///   - eventLoopGroup: The threads of the connections: a `MultiThreadedEventLoopGroup`, or another group that can
    ///     open sockets. Shut the group down only after the WebSocket is released. Default: the process's shared group.
    ///   - request: A closure that returns the request. If the closure throws, the attempt fails. The attempt also
    ///     fails if the closure and the connection together take longer than ``WebSocketOptions/connectTimeout``.
    public convenience init(
        options: Options = Options(),
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        request: @escaping @Sendable () async throws -> WebSocketRequest
    ) {
        let connector = WebSocketConnector(options.connection, proxies: ProxyRules(options.connection.proxy))
        self.init(
            options,
            on: eventLoopGroup.next(),
            request: {
                let request = try await request()
                try connector.check(request)
                do throws(NetworkError) { try options.connection.tls.validate() } catch { throw WebSocketError(error) }
                return request
            },
            { connector.connect(to: $0, on: $1, receive: $2) }
        )
    }

    /// Creates a WebSocket whose connections a closure starts, for tests.
    ///
    /// - Parameter clock: The clock; `nil` for the computer's clock.
    package init(
        _ options: Options,
        on eventLoop: any EventLoop,
        clock: (@Sendable () -> ContinuousClock.Instant)? = nil,
        request: @escaping @Sendable () async throws -> WebSocketRequest,
        _ open:
            @escaping @Sendable (
                WebSocketRequest, any EventLoop, @escaping @Sendable (WebSocketEvent) -> Void
            ) -> WebSocketConnection
    ) {
        session = ReconnectingSession(options, on: eventLoop, clock: clock, request: request, open)
    }

    deinit { session.release() }

    /// Starts connecting, and returns at once. The call has no effect if your code has already called the method, or
    /// has called ``close(code:reason:)``.
    public func connect() { session.connect() }

    /// Connects, and waits until the connection is open.
    ///
    /// The method continues to wait while the client retries failed attempts. A timeout and the cancellation of the
    /// task end the wait, not the attempts.
    ///
    /// - Parameter timeout: The time limit of the wait. Default: no limit.
    /// - Throws: ``WebSocketError`` with the code ``WebSocketError/Code/waitTimedOut`` after the time limit, or the reason
    ///   why the client has stopped. The code is ``WebSocketError/Code/connectionClosed`` if your code has closed the
    ///   WebSocket. `CancellationError` if the task is cancelled.
    public func connected(timeout: Duration? = nil) async throws { try await session.connected(within: timeout) }

    /// The current state of the WebSocket.
    public var state: State { session.state }

    /// The current state and all later states. For a slow consumer, the sequence keeps the newest 256 states. The
    /// sequence ends after ``State/closed(_:)``.
    public var states: AsyncStream<State> { session.states() }

    /// The messages of all connections, in order. See ``WebSocketMessages``.
    ///
    /// The sequence continues after the loss of a connection. ``states`` shows when messages may be missing. The
    /// sequence ends when your code closes the WebSocket, and throws if the client stops for another reason.
    public var messages: WebSocketMessages { WebSocketMessages(buffer: session.buffer, owner: self) }

    /// Sends a message, and returns when the operating system has accepted the bytes.
    ///
    /// If there is no connection, the message waits for the next connection. If the connection is lost during the
    /// write, the call throws. The client does not send the message again, because the server may have received it. While
    /// too many bytes are unsent, the call waits for its turn, as with ``WebSocket/send(_:)-(WebSocketMessage)``.
    ///
    /// - Throws: ``WebSocketError`` with the code ``WebSocketError/Code/connectionClosed`` if the WebSocket is closed
    ///   or the connection is lost. The code is ``WebSocketError/Code/sendQueueFull`` if too many messages wait. If the
    ///   client stops because of another error, waiting messages fail with that error. The call throws
    ///   `CancellationError` if the task is cancelled while the message waits for a connection.
    public func send(_ message: WebSocketMessage) async throws { try await session.send(message) }

    /// Sends a text message. See ``send(_:)-(WebSocketMessage)``.
    public func send(_ text: String) async throws { try await session.send(.text(text)) }

    /// Sends a binary message. See ``send(_:)-(WebSocketMessage)``.
    public func send(_ bytes: [UInt8]) async throws { try await session.send(.binary(bytes)) }

    /// The way in which the last connection ended; `nil` until the WebSocket is closed for good.
    public var closure: WebSocketClosure? { session.closure }

    /// Closes the WebSocket for good, and returns at once. Waiting messages fail, and ``messages`` ends. You can call the
    /// method from any thread and more than once.
    ///
    /// - Parameters:
    ///   - code: 1000 to 1003, 1007 to 1014, or the app's own code from 3000 to 4999. Default: 1000.
    ///   - reason: The reason for the server. The client truncates the reason to 123 bytes. Default: no reason.
    /// - Throws: ``WebSocketError`` with the code ``WebSocketError/Code/invalidCloseCode``. After this error, the
    ///   WebSocket stays open.
    public func close(code: WebSocketCloseCode = .normalClosure, reason: String = "") throws(WebSocketError) {
        try code.check()
        session.close(code: code, reason: reason)
    }

    /// Closes the WebSocket as ``close(code:reason:)`` does, waits until the server has answered, and returns how the
    /// connection ended.
    ///
    /// - Parameters:
    ///   - code: See ``close(code:reason:)``.
    ///   - reason: See ``close(code:reason:)``.
    ///   - timeout: The time limit of the wait. Default: no limit, but the server has only
    ///     ``WebSocketOptions/closeTimeout`` to answer.
    /// - Throws: ``WebSocketError`` with the code ``WebSocketError/Code/invalidCloseCode``. The code is
    ///   ``WebSocketError/Code/waitTimedOut`` after the time limit. `CancellationError` if the task is cancelled. In both
    ///   cases, the WebSocket still closes.
    @discardableResult
    public func closed(
        code: WebSocketCloseCode = .normalClosure,
        reason: String = "",
        timeout: Duration? = nil
    ) async throws -> WebSocketClosure {
        try close(code: code, reason: reason)
        return try await session.closed(within: timeout)
    }
}
