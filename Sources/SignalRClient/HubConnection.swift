package import SignalRCore

/// A connection to a hub of ASP.NET Core SignalR.
///
/// ```swift
/// await connection.on("ReceiveMessage") { (user: String, message: String) in print(user, message) }
/// try await connection.start()
/// try await connection.invoke(method: "SendMessage", arguments: "me", "Hello")
/// let sum: Int = try await connection.invoke(method: "Add", arguments: 40, 2)
/// ```
///
/// Handlers and callbacks stay registered after a reconnect. The client's membership in the server's groups is lost,
/// because the server sees a new connection with a new id.
///
/// Calls throw at once if there is no connection. Waiting calls throw if the connection is lost. With
/// ``HubConnectionBuilder/withStatefulReconnect()``, the client can resume the same connection after a loss. The id and
/// the groups then stay, and the client sends the messages of calls later. The connection closes when your code
/// releases the last reference to it. A handler that uses the connection must reference the connection weakly. A strong
/// reference would keep the connection open.
public actor HubConnection {
    nonisolated let engine: HubEngine

    init(_ engine: HubEngine) { self.engine = engine }

    deinit { engine.release() }

    // MARK: Connecting

    /// Connects, and returns when calls are possible. The client makes only one attempt, because the retry policy
    /// applies only after a loss.
    ///
    /// - Throws: ``SignalRError`` or ``SignalRClientError`` if the client cannot connect.
    ///   ``SignalRError/invalidOperation(_:)`` if the connection is not stopped. ``SignalRError/connectionAborted`` if
    ///   your code called ``stop()``. `CancellationError` if the task was cancelled.
    public nonisolated func start() async throws { try await engine.start() }

    /// Connects, and returns when calls are possible. After a failed attempt, the policy decides whether and when the
    /// client tries again.
    ///
    /// Use this method if the app may start before its server, or without a network. Meanwhile, ``statuses`` reports the
    /// attempts, and ``stop()`` cancels them. The policy applies to this start only.
    /// ``HubConnectionBuilder/withAutomaticReconnect(retryPolicy:)`` sets the policy after a loss. With an invalid URL,
    /// the client makes only one attempt.
    ///
    /// - Parameter policy: The policy that decides whether and when to try again. The context of the policy counts
    ///   attempts and time from this call.
    /// - Throws: The error of the last attempt if the policy stops; otherwise the errors of ``start()``.
    public nonisolated func start(retrying policy: any RetryPolicy) async throws {
        try await engine.start(retrying: policy)
    }

    /// Disconnects, and returns when the transport is closed, or after 5 seconds.
    ///
    /// Waiting calls throw. You can call the method in any state, and in handlers and callbacks. The callbacks of
    /// ``onClosed(handler:)`` may still run after the call returns.
    public nonisolated func stop() async { await engine.stop() }

    /// Returns the state of the connection.
    public func state() -> HubConnectionState {
        switch engine.machineState {
        case .stopped: .Stopped
        case .connecting: .Connecting
        case .connected: .Connected
        case .reconnecting: .Reconnecting
        }
    }

    /// Returns the number of calls of any kind that wait for the connection, for tests.
    package nonisolated func waitingCallCount() async throws -> Int { try await engine.waitingCallCount() }

    /// Returns the number of calls, timers, tasks and transports, for tests.
    package nonisolated func residueCount() async throws -> Int { try await engine.residueCount() }

    /// An object that is released with the connection, for tests.
    package nonisolated var engineObject: AnyObject { engine }

    // MARK: Tokens that expire

    /// Gets a token from your ``HttpConnectionOptions/accessTokenFactory``, and sends it to the server, which then uses it
    /// for the open connection. The connection, its id and its calls continue.
    ///
    /// The client calls this method itself before the token expires, if the hub names the lifetime of tokens in its answer
    /// to the negotiation (.NET 11, `EnableAuthenticationRefresh`). Call it for example after a change of the user's
    /// rights. If the task is cancelled, the call throws at once, and the refresh continues.
    ///
    /// - Returns: The time until the new token expires; `nil` if the server named none.
    /// - Throws: ``SignalRClientError`` with the code ``SignalRClientError/Code/authenticationRefreshRefused`` if the server
    ///   refuses the token, the code ``SignalRClientError/Code/accessTokenFailed`` if your closure throws, and another code
    ///   if the request fails or the connection ends. ``SignalRError/httpTimeoutError`` if the server does not answer
    ///   within 10 s, or within `timeout` if that is less, and ``SignalRError/serverTimeout(_:)`` if the connection ends
    ///   because of the server's silence. ``SignalRError/invalidOperation(_:)`` if there is no connection, no
    ///   closure, or no negotiation, and if the negotiation has led to another server.
    @discardableResult
    public nonisolated func refreshAuthentication() async throws -> Duration? {
        try await engine.refreshAuthentication()
    }

    // MARK: Calling the server

    /// Calls a method of the server without waiting for an answer. Returns when the transport has taken the message.
    /// With stateful reconnect, returns when the client has stored the message.
    ///
    /// - Parameters:
    ///   - method: The name of the method.
    ///   - arguments: Values that are `Encodable`, and asynchronous sequences of such values. The client sends the
    ///     elements of a sequence one by one, after the call.
    /// - Throws: ``SignalRError/invalidOperation(_:)`` if there is no connection. ``SignalRClientError`` if the client
    ///   cannot send an argument, or if the connection is lost.
    public nonisolated func send(method: String, arguments: any Sendable...) async throws {
        try await engine.send(method, CallArguments(arguments, engine.coder))
    }

    /// Calls a method of the server, and returns when the method has completed. The client ignores the method's result.
    ///
    /// If the task is cancelled, the call throws at once, and the client notifies the server.
    ///
    /// - Parameters:
    ///   - method: The name of the method.
    ///   - arguments: The arguments, as in ``send(method:arguments:)``.
    /// - Throws: ``SignalRError/invocationError(_:)`` if the method failed. ``SignalRClientError`` with the code
    ///   ``SignalRClientError/Code/callTimedOut`` after the limit of
    ///   ``HubConnectionBuilder/withInvocationTimeout(_:)``. The call also throws the errors of
    ///   ``send(method:arguments:)``.
    public nonisolated func invoke(method: String, arguments: any Sendable...) async throws {
        _ = try await engine.invoke(method, CallArguments(arguments, engine.coder))
    }

    /// Calls a method of the server, and returns its result.
    ///
    /// If the task is cancelled, the call throws at once, and the client notifies the server. If a method has no result
    /// and the type is an optional, the call returns `nil`.
    ///
    /// - Parameters:
    ///   - method: The name of the method.
    ///   - arguments: The arguments, as in ``send(method:arguments:)``.
    /// - Throws: ``SignalRError/invocationError(_:)`` if the method failed. ``SignalRClientError`` with the code
    ///   ``SignalRClientError/Code/decodingFailed`` if the result has another type, or the code
    ///   ``SignalRClientError/Code/callTimedOut`` after the limit of
    ///   ``HubConnectionBuilder/withInvocationTimeout(_:)``. The call also throws the errors of
    ///   ``send(method:arguments:)``.
    public nonisolated func invoke<TReturn: Decodable & Sendable>(
        method: String,
        arguments: any Sendable...
    ) async throws -> TReturn {
        let outcome = try await engine.invoke(method, CallArguments(arguments, engine.coder))
        return try engine.coder.decode(TReturn.self, from: outcome)
    }

    /// Calls a method of the server, and returns the stream of its items.
    ///
    /// - Parameters:
    ///   - method: The name of the method.
    ///   - arguments: The arguments, as in ``send(method:arguments:)``.
    /// - Throws: ``SignalRError/invalidOperation(_:)`` if there is no connection. ``SignalRClientError`` if the client
    ///   cannot send an argument. If the method fails, the stream throws.
    public nonisolated func stream<Element: Decodable & Sendable>(
        method: String,
        arguments: any Sendable...
    ) async throws -> any StreamResult<Element> {
        let lease = try await engine.stream(method, CallArguments(arguments, engine.coder))
        return LeasedStreamResult<Element>(lease: lease)
    }

    // MARK: Calls of the server

    /// Registers a handler for a method that the server calls. Names are case-insensitive.
    ///
    /// The handlers of one connection run one after the other, on no particular thread. Handlers run in the order of
    /// the calls. The handlers of one call run in the order of their registration. A handler can call the server.
    ///
    /// Register handlers before you connect, or right afterwards. Until 5 s after the client has connected, calls of a
    /// method without a handler wait for one: the newest 256 calls, or 1 MiB. If the server wants a result, the call does
    /// not wait, and the server gets an error.
    ///
    /// If the server waits for a result, the client answers null, as Microsoft's Swift client does. Microsoft's clients
    /// for .NET, JavaScript and Java answer with an error instead.
    ///
    /// - Returns: A token that removes only this handler.
    @discardableResult
    @preconcurrency
    public func on<each T: Decodable & Sendable>(
        _ methodName: String,
        handler: @escaping @concurrent @Sendable (repeat each T) async throws -> Void
    ) -> HandlerToken {
        add(methodName, isConcurrent: false, Self.handler(engine.coder, handler))
    }

    /// Registers a handler that returns a result to the server. See `on`.
    ///
    /// If the handler throws a ``HubError``, the client sends the error's message to the server. If the handler throws
    /// another error, the server learns only that the handler failed.
    ///
    /// - Returns: A token that removes only this handler.
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

    /// Registers a handler whose calls run concurrently. Later messages do not wait for this handler. The calls that run
    /// count toward ``HttpConnectionOptions/receiveBufferSize``. See `on`.
    ///
    /// - Returns: A token that removes only this handler.
    @discardableResult
    public func onConcurrent<each T: Decodable & Sendable>(
        _ methodName: String,
        handler: @escaping @concurrent @Sendable (repeat each T) async throws -> Void
    ) -> HandlerToken {
        add(methodName, isConcurrent: true, Self.handler(engine.coder, handler))
    }

    /// Removes all handlers of a method. A handler that is running continues.
    public func off(method: String) { engine.handlers.remove(method) }

    private nonisolated func add(
        _ method: String,
        isConcurrent: Bool,
        _ call: @escaping @Sendable ([EncodedValue]) async throws -> EncodedValue?
    ) -> HandlerToken {
        let id = engine.addHandler(method, isConcurrent: isConcurrent, call)
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

    /// Registers a callback that runs when the connection is closed. The callback runs once for each ``start()`` that
    /// returned. The argument is `nil` if the connection ended without an error. Callbacks run one after the other, on
    /// no particular thread.
    @preconcurrency
    public nonisolated func onClosed(handler: @escaping @Sendable ((any Error)?) async -> Void) {
        engine.addCallback { $0.closed.append(handler) }
    }

    /// Registers a callback that runs when the connection is lost and the client tries to reconnect. The callback runs
    /// once for each loss. The first attempt does not wait for the callback.
    @preconcurrency
    public nonisolated func onReconnecting(handler: @escaping @Sendable ((any Error)?) async -> Void) {
        engine.addCallback { $0.reconnecting.append(handler) }
    }

    /// Registers a callback that runs when the client has reconnected. The new connection has a new id, and is not a
    /// member of the server's groups.
    @preconcurrency
    public nonisolated func onReconnected(handler: @escaping @Sendable () async -> Void) {
        engine.addCallback { $0.reconnected.append(handler) }
    }

    /// Registers a callback that runs when the server has accepted a new token for the open connection. The argument is
    /// the time until the token expires; `nil` if the server named none. See ``refreshAuthentication()``.
    public nonisolated func onAuthenticationRefreshed(handler: @escaping @Sendable (Duration?) async -> Void) {
        engine.addCallback { $0.refreshed.append(handler) }
    }

    /// Registers a callback that runs when the client could not refresh the authentication. The connection stays open until
    /// the old token expires. If the client refreshes by itself, and knows the expiry, it tries again after half of the
    /// remaining time, until half a second is left.
    public nonisolated func onAuthenticationRefreshFailed(handler: @escaping @Sendable (any Error) async -> Void) {
        engine.addCallback { $0.refreshFailed.append(handler) }
    }
}

/// A token that removes one handler. Releasing the token does not remove the handler.
public struct HandlerToken: Sendable {
    private let remove: @Sendable () -> Void

    init(_ remove: @escaping @Sendable () -> Void) { self.remove = remove }

    /// Removes the handler. A handler that is running continues.
    public func cancel() { remove() }
}

extension HubConnection: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type's name, because the options of the connection may be secret.
    public nonisolated var description: String { "HubConnection" }
    /// The same as ``description``.
    public nonisolated var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows no secrets.
    public nonisolated var customMirror: Mirror { Mirror(self, children: []) }
}
