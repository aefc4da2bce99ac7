package import SignalRCore

/// A connection to a hub of ASP.NET Core SignalR.
///
/// ```swift
/// await connection.on("ReceiveMessage") { (user: String, message: String) in print(user, message) }
/// try await connection.start()
/// try await connection.invoke(method: "SendMessage", arguments: "me", "Hello")
/// let sum: Int = try await connection.invoke(method: "Add", arguments: 40, 2)
/// ```
/// Handlers and callbacks survive a reconnect. A server's groups do not, because for the server, the connection is a
/// new one with a new id.
///
/// Calls throw at once if there is no connection, and if the connection is lost while they wait. The connection closes
/// when its last reference is released. A handler that uses it must reference it weakly; otherwise it is never
/// released.
public actor HubConnection {
    nonisolated let engine: HubEngine

    init(_ engine: HubEngine) { self.engine = engine }

    deinit { engine.release() }

    // MARK: Connecting

    /// Connects, and returns when calls are possible. It tries once. The retry policy applies to losses only.
    ///
    /// - Throws: ``SignalRError`` or ``SignalRClientError`` if there is no connection; ``SignalRError/invalidOperation(_:)``
    ///   if the connection is not stopped; ``SignalRError/connectionAborted`` if ``stop()`` was called; `CancellationError` if
    ///   the task was cancelled.
    public nonisolated func start() async throws { try await engine.start() }

    /// Connects, and returns when calls are possible. After a failed attempt, it tries again as the policy says.
    ///
    /// It is for programs that may be started before their server, or without a network. ``states`` reports the
    /// attempts meanwhile, and ``stop()`` ends them. The policy applies to this start only.
    /// ``HubConnectionBuilder/withAutomaticReconnect(retryPolicy:)`` decides what happens after a loss. An invalid URL
    /// is not tried again.
    ///
    /// - Parameter policy: Decides about further attempts. Its context starts with this call.
    /// - Throws: The error of the last attempt, if the policy stops; otherwise as ``start()``.
    public nonisolated func start(retrying policy: any RetryPolicy) async throws {
        try await engine.start(retrying: policy)
    }

    /// Disconnects, and returns when the transport is closed, after 5 seconds at the latest.
    ///
    /// Waiting calls throw. It may be called in any state, and in handlers and callbacks. The callbacks of
    /// ``onClosed(handler:)`` may still run when it returns.
    public nonisolated func stop() async { await engine.stop() }

    /// Returns the state of the connection.
    public func state() -> HubConnectionState {
        switch engine.state {
        case .stopped: .Stopped
        case .connecting: .Connecting
        case .connected: .Connected
        case .reconnecting: .Reconnecting
        }
    }

    /// For tests: how many calls of any kind wait for the connection.
    package nonisolated func waitingCallCount() async throws -> Int { try await engine.waitingCallCount() }

    /// For tests: how many calls, timers, tasks and transports there are.
    package nonisolated func residueCount() async throws -> Int { try await engine.residueCount() }

    /// For tests: an object that must not outlive the connection.
    package nonisolated var engineObject: AnyObject { engine }

    // MARK: Calling the server

    /// Calls a method of the server that does not answer. Returns when the message is handed to the transport.
    ///
    /// - Parameters:
    ///   - method: The name of the method.
    ///   - arguments: Values that are `Encodable`, and asynchronous sequences of such values. The elements of a sequence are
    ///     sent one by one, after the call.
    /// - Throws: ``SignalRError/invalidOperation(_:)`` if there is no connection; ``SignalRClientError`` if an argument cannot
    ///   be sent or the connection is lost.
    public nonisolated func send(method: String, arguments: any Sendable...) async throws {
        try await engine.send(method, CallArguments(arguments, engine.coder))
    }

    /// Calls a method of the server, and returns when it has completed. A result is ignored.
    ///
    /// If the task is cancelled, the call throws at once, and the server is notified.
    ///
    /// - Parameters:
    ///   - method: The name of the method.
    ///   - arguments: As for ``send(method:arguments:)``.
    /// - Throws: ``SignalRError/invocationError(_:)`` if the method failed; otherwise as ``send(method:arguments:)``.
    public nonisolated func invoke(method: String, arguments: any Sendable...) async throws {
        _ = try await engine.invoke(method, CallArguments(arguments, engine.coder))
    }

    /// Calls a method of the server, and returns its result.
    ///
    /// If the task is cancelled, the call throws at once, and the server is notified. If the type is an optional, a
    /// method without a result returns `nil`.
    ///
    /// - Parameters:
    ///   - method: The name of the method.
    ///   - arguments: As for ``send(method:arguments:)``.
    /// - Throws: ``SignalRError/invocationError(_:)`` if the method failed; ``SignalRClientError`` of code
    ///   ``SignalRClientError/Code/decodingFailed`` if the result is of another type; otherwise as
    ///   ``send(method:arguments:)``.
    public nonisolated func invoke<TReturn: Decodable & Sendable>(
        method: String,
        arguments: any Sendable...
    ) async throws -> TReturn {
        let outcome = try await engine.invoke(method, CallArguments(arguments, engine.coder))
        return try engine.coder.decode(TReturn.self, from: outcome)
    }

    /// Calls a method of the server that answers with a stream.
    ///
    /// - Parameters:
    ///   - method: The name of the method.
    ///   - arguments: As for ``send(method:arguments:)``.
    /// - Throws: ``SignalRError/invalidOperation(_:)`` if there is no connection; ``SignalRClientError`` if an argument cannot
    ///   be sent. If the method fails, the stream throws.
    public nonisolated func stream<Element: Decodable & Sendable>(
        method: String,
        arguments: any Sendable...
    ) async throws -> any StreamResult<Element> {
        let lease = try await engine.stream(method, CallArguments(arguments, engine.coder))
        return LeasedStreamResult<Element>(lease: lease)
    }

    // MARK: Calls of the server

    /// Registers a handler for a method that the server calls. Names are compared without regard to case.
    ///
    /// Handlers of one connection run one after the other, in the order of the calls and of their registration, on no
    /// particular thread. They may call the server.
    ///
    /// - Returns: A token that removes this handler only.
    @discardableResult
    @preconcurrency
    public func on<each T: Decodable & Sendable>(
        _ methodName: String,
        handler: @escaping @concurrent @Sendable (repeat each T) async throws -> Void
    ) -> HandlerToken {
        add(methodName, isConcurrent: false, Self.handler(engine.coder, handler))
    }

    /// Registers a handler for a method that the server calls, and whose result the server waits for. See `on`.
    ///
    /// If the handler throws, the server gets an error: the message of a ``HubError``, or a text that the handler
    /// failed.
    ///
    /// - Returns: A token that removes this handler only.
    @discardableResult
    @preconcurrency
    public func on<each T: Decodable & Sendable, Result: Encodable & Sendable>(
        _ methodName: String,
        handler: @escaping @concurrent @Sendable (repeat each T) async throws -> Result
    ) -> HandlerToken {
        let coder = engine.coder
        return add(methodName, isConcurrent: false) { arguments in
            let values = try Self.decode(arguments, coder, as: (repeat each T).self)
            return try coder.encode(try await handler(repeat each values))
        }
    }

    /// Registers a handler whose calls run at the same time. Later messages do not wait for them. See `on`.
    ///
    /// - Returns: A token that removes this handler only.
    @discardableResult
    public func onConcurrent<each T: Decodable & Sendable>(
        _ methodName: String,
        handler: @escaping @concurrent @Sendable (repeat each T) async throws -> Void
    ) -> HandlerToken {
        add(methodName, isConcurrent: true, Self.handler(engine.coder, handler))
    }

    /// Removes all handlers of a method. A running handler is not interrupted.
    public func off(method: String) { engine.handlers.remove(method) }

    private nonisolated func add(
        _ method: String,
        isConcurrent: Bool,
        _ call: @escaping @Sendable ([EncodedValue]) async throws -> EncodedValue?
    ) -> HandlerToken {
        let id = engine.handlers.add(method, isConcurrent: isConcurrent, call)
        return HandlerToken { [handlers = engine.handlers] in handlers.remove(method, id) }
    }

    private static func handler<each T: Decodable & Sendable>(
        _ coder: HubCoder,
        _ handler: @escaping @concurrent @Sendable (repeat each T) async throws -> Void
    ) -> @Sendable ([EncodedValue]) async throws -> EncodedValue? {
        { arguments in
            let values = try decode(arguments, coder, as: (repeat each T).self)
            try await handler(repeat each values)
            return nil
        }
    }

    /// Decodes all arguments of a call.
    package static func decode<each T: Decodable>(
        _ arguments: [EncodedValue],
        _ coder: HubCoder,
        as type: (repeat each T).Type
    ) throws -> (repeat each T) {
        var count = 0
        for _ in repeat (each T).self { count += 1 }
        var reader = try ArgumentReader(arguments, count: count, coder)
        return (repeat try reader.next((each T).self))
    }

    // MARK: Callbacks

    /// Registers a callback for the end of the connection: once for each ``start()`` that returned. Its argument is `nil` if
    /// the connection ended without an error. Callbacks run one after the other, on no particular thread.
    @preconcurrency
    public nonisolated func onClosed(handler: @escaping @Sendable ((any Error)?) async -> Void) {
        engine.addCallback { $0.closed.append(handler) }
    }

    /// Registers a callback for the loss of the connection: once for each loss after which the client tries to reconnect. The
    /// first attempt does not wait for it.
    @preconcurrency
    public nonisolated func onReconnecting(handler: @escaping @Sendable ((any Error)?) async -> Void) {
        engine.addCallback { $0.reconnecting.append(handler) }
    }

    /// Registers a callback for a new connection after a loss. The connection has a new id, and belongs to no groups of
    /// the server.
    @preconcurrency
    public nonisolated func onReconnected(handler: @escaping @Sendable () async -> Void) {
        engine.addCallback { $0.reconnected.append(handler) }
    }
}

/// Removes one handler. Releasing the token does not remove the handler.
public struct HandlerToken: Sendable {
    private let remove: @Sendable () -> Void

    init(_ remove: @escaping @Sendable () -> Void) { self.remove = remove }

    /// Removes the handler. A running handler is not interrupted.
    public func cancel() { remove() }
}
