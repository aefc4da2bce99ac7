public import NIOCore
public import NIOPosix
import RealtimePrimitives

/// A WebSocket connection (RFC 6455).
///
/// ```swift
/// let webSocket = try await WebSocket.connect(to: "wss://example.com/chat")
/// try await webSocket.send("Hello")
/// for try await message in webSocket.messages {
///     if case .text(let text) = message { print(text) }
/// }
/// ```
///
/// The client answers pings while it reads (see ``messages``). The client closes the connection when you release the
/// last reference to the WebSocket and to its ``messages``. A WebSocket does not reconnect. Use
/// ``ReconnectingWebSocket`` if the client should reconnect.
public final class WebSocket: Sendable {
    /// The subprotocol that the server chose; `nil` if it chose none.
    public let subprotocol: String?

    private let eventLoop: any EventLoop
    private let inbox: WebSocketInbox

    private init(_ inbox: WebSocketInbox, subprotocol: String?, eventLoop: any EventLoop) {
        self.inbox = inbox
        self.subprotocol = subprotocol
        self.eventLoop = eventLoop
    }

    deinit {
        eventLoop.execute { [inbox] in inbox.close(code: .goingAway, reason: "") }
    }

    // MARK: Connecting

    /// Connects to a URL.
    ///
    /// - Parameters:
    ///   - url: A `ws` or `wss` URL.
    ///   - subprotocols: The subprotocols that the client offers, in order of preference. Default: none.
    ///   - headers: Additional header fields of the upgrade request. Default: none.
    ///   - options: The timeouts, limits, TLS and proxy.
    ///   - eventLoopGroup: The threads of the connection: a `MultiThreadedEventLoopGroup`, or another group that can
    ///     open sockets. Shut the group down only after the WebSocket is released. Default: the process's shared group.
    /// - Throws: ``WebSocketError``, or `CancellationError` if the task is cancelled.
    public static func connect(
        to url: String,
        subprotocols: [String] = [],
        headers: HTTPHeaderFields = [:],
        options: WebSocketOptions = WebSocketOptions(),
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) async throws -> WebSocket {
        let request = try WebSocketRequest(url: url, subprotocols: subprotocols, headers: headers)
        return try await connect(to: request, options: options, eventLoopGroup: eventLoopGroup)
    }

    /// Connects to a server.
    ///
    /// - Parameters:
    ///   - request: The server, and the contents of the upgrade request.
    ///   - options: The timeouts, limits, TLS and proxy.
    ///   - eventLoopGroup: The threads of the connection: a `MultiThreadedEventLoopGroup`, or another group that can
    ///     open sockets. Shut the group down only after the WebSocket is released. Default: the process's shared group.
    /// - Throws: ``WebSocketError``, or `CancellationError` if the task is cancelled.
    public static func connect(
        to request: WebSocketRequest,
        options: WebSocketOptions = WebSocketOptions(),
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) async throws -> WebSocket {
        let connector = WebSocketConnector(options, proxies: ProxyRules(options.proxy))
        let eventLoop = eventLoopGroup.next()
        return try await connect(to: request.host, options: options, on: eventLoop) { receive in
            connector.connect(to: request, on: eventLoop, receive: receive)
        }
    }

    /// Connects over a connection that a closure starts, for tests.
    package static func connect(
        to host: String,
        options: WebSocketOptions,
        on eventLoop: any EventLoop,
        _ open: @escaping @Sendable (@escaping @Sendable (WebSocketEvent) -> Void) -> WebSocketConnection
    ) async throws -> WebSocket {
        let opened = eventLoop.makePromise(of: String?.self)
        // This code runs on the event loop, so no event arrives before the inbox is complete.
        let inbox = try await eventLoop.submit {
            WebSocketInbox(limit: options.receiveBufferSize, on: eventLoop, opened: opened, open)
        }.get()
        let timeout = options.connectTimeout
        let timer = eventLoop.scheduleTask(in: TimeAmount(clamping: timeout)) {
            let message = "Connection timed out: there was no connection to '\(host)' within \(timeout.inWords)."
            inbox.giveUp(WebSocketError(.connectionTimedOut, message))
        }
        defer { timer.cancel() }
        let subprotocol = try await withCancellationHandler {
            try await opened.futureResult.get()
        } onCancel: {
            eventLoop.execute { inbox.giveUp(CancellationError()) }
        }
        return WebSocket(inbox, subprotocol: subprotocol, eventLoop: eventLoop)
    }

    // MARK: Messages

    /// The messages that the server sends. See ``WebSocketMessages``.
    public var messages: WebSocketMessages { WebSocketMessages(buffer: inbox.buffer, owner: self) }

    /// Sends a message, and returns when the operating system has accepted the bytes.
    ///
    /// Await each send. If your code waits for each call, it sends only as fast as the server reads. Many tasks can send
    /// at once: while more than ``WebSocketOptions/sendBufferSize`` bytes are unsent, further calls wait for their
    /// turn. The server may not have received the message when the call returns.
    ///
    /// - Throws: ``WebSocketError`` with the code ``WebSocketError/Code/connectionClosed`` if the connection is not open,
    ///   or closes while the call waits. The code is ``WebSocketError/Code/sendBufferFull`` if calls wait and the server
    ///   takes nothing for ``WebSocketOptions/sendTimeout``. In this case, the client has closed the connection.
    public func send(_ message: WebSocketMessage) async throws(WebSocketError) {
        do {
            try await eventLoop.result { [inbox] written in inbox.connection.sendInTurn(message, promise: written) }
        } catch {
            throw WebSocketError(sending: error)
        }
    }

    /// Sends a text message. See ``send(_:)-(WebSocketMessage)``.
    public func send(_ text: String) async throws(WebSocketError) { try await send(.text(text)) }

    /// Sends a binary message. See ``send(_:)-(WebSocketMessage)``.
    public func send(_ bytes: [UInt8]) async throws(WebSocketError) { try await send(.binary(bytes)) }

    /// Sends a ping, and returns the time until the server answered.
    ///
    /// The call has no timeout. To stop waiting, cancel the task. Another task must iterate ``messages`` meanwhile,
    /// because the answer comes after the messages that the server has already sent.
    ///
    /// - Throws: ``WebSocketError`` if the connection ends before the answer, or if the client has paused reading
    ///   because too many messages wait. The call throws `CancellationError` if the task is cancelled.
    @discardableResult
    public func ping() async throws -> Duration {
        let start = ContinuousClock.now
        let answered = eventLoop.makePromise(of: Void.self)
        eventLoop.execute { [inbox] in inbox.sendPing(answered) }
        try await withCancellationHandler {
            try await answered.futureResult.get()
        } onCancel: {
            answered.fail(CancellationError())
        }
        return ContinuousClock.now - start
    }

    /// Whether the client has paused reading because too many messages wait.
    package var isPaused: Bool { inbox.buffer.isPaused }

    // MARK: Closing

    /// The code, reason and error with which the connection ended; `nil` while the connection is open.
    public var closure: WebSocketClosure? { inbox.closure }

    /// Closes the connection, and returns at once. The client discards messages that arrive after the call, and
    /// ``messages`` ends. If the server does not answer within ``WebSocketOptions/closeTimeout``, the client closes the
    /// connection without an answer. You can call the method from any thread and more than once.
    ///
    /// - Parameters:
    ///   - code: 1000 to 1003, 1007 to 1014, or the app's own code from 3000 to 4999. Default: 1000.
    ///   - reason: The reason for the server. The client truncates the reason to 123 bytes. Default: no reason.
    /// - Throws: ``WebSocketError`` with the code ``WebSocketError/Code/invalidCloseCode``. In this case, the client
    ///   sends nothing.
    public func close(code: WebSocketCloseCode = .normalClosure, reason: String = "") throws(WebSocketError) {
        try code.check()
        eventLoop.execute { [inbox] in inbox.close(code: code, reason: reason) }
    }

    /// Closes the connection as ``close(code:reason:)`` does, waits until the server has answered, and returns how the
    /// connection ended. If the connection has already ended, the call returns at once.
    ///
    /// - Parameters:
    ///   - code: See ``close(code:reason:)``.
    ///   - reason: See ``close(code:reason:)``.
    ///   - timeout: The time limit of the wait. Default: no limit, but the server has only
    ///     ``WebSocketOptions/closeTimeout`` to answer.
    /// - Throws: ``WebSocketError`` with the code ``WebSocketError/Code/invalidCloseCode``. The code is
    ///   ``WebSocketError/Code/waitTimedOut`` after the time limit. `CancellationError` if the task is cancelled. In both
    ///   cases, the connection still closes.
    @discardableResult
    public func closed(
        code: WebSocketCloseCode = .normalClosure,
        reason: String = "",
        timeout: Duration? = nil
    ) async throws -> WebSocketClosure {
        try close(code: code, reason: reason)
        return try await inbox.closed(within: timeout, on: eventLoop)
    }
}

extension WebSocketError {
    /// Creates the error for a message that the client did not write.
    init(sending error: any Error) {
        self =
            error as? WebSocketError
            ?? WebSocketError(.connectionClosed, "Message not sent: the connection is not open.", cause: error)
    }
}
