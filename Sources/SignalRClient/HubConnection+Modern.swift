import NIOConcurrencyHelpers
import RealtimePrimitives
import SignalRCore

/// A method of the server, with the types of its arguments and result.
///
/// ```swift
/// extension HubMethod where Arguments == (Int, Int), Result == Int {
///     static var add: Self { Self("Add") }
/// }
/// let sum = try await connection.invoke(.add, 40, 2)
/// ```
/// If the method streams, `Result` is the type of an item.
public struct HubMethod<Arguments, Result: Decodable & Sendable>: Sendable {
    /// The name of the method.
    public let name: String

    /// Creates a method from its name.
    public init(_ name: String) { self.name = name }
}

extension HubConnection {
    // MARK: Reading

    /// The connection's id, which the server's methods use to address this client; `nil` while there is no connection,
    /// and without a negotiation.
    public nonisolated var connectionId: String? {
        switch engine.state {
        case .connected(let id, _), .resuming(let id, _), .resumed(let id, _): id
        case .stopped, .connecting, .waiting: nil
        }
    }

    /// The current transport; `nil` while there is no connection.
    public nonisolated var transport: HttpTransportType? {
        switch engine.state {
        case .connected(_, let transport), .resuming(_, let transport), .resumed(_, let transport): transport
        case .stopped, .connecting, .waiting: nil
        }
    }

    /// The status of the connection, with the reason for each loss or failure.
    public nonisolated var status: HubConnectionStatus { engine.state }

    /// The current status, and then each new status, for any number of consumers. A slow consumer gets the newest 256
    /// statuses. The sequence ends after the app has released the connection.
    public nonisolated var statuses: some AsyncSequence<HubConnectionStatus, Never> & Sendable { engine.states() }

    // MARK: Scoped use

    /// Connects, and returns when the connection has ended without an error. If the task is cancelled, the client
    /// disconnects.
    ///
    /// - Throws: The error that ended the connection, the error of ``start()``, or `CancellationError` if the task was
    ///   cancelled.
    public nonisolated func run() async throws { try await run(startPolicy: nil) }

    /// Connects as ``start(retrying:)`` does, and returns when the connection has ended without an error. See
    /// ``run()``.
    ///
    /// - Parameter policy: The policy that decides whether and when to try again.
    public nonisolated func run(retrying policy: any RetryPolicy) async throws { try await run(startPolicy: policy) }

    private nonisolated func run(startPolicy: (any RetryPolicy)?) async throws {
        try await engine.start(retrying: startPolicy)
        // If the connection has ended already, the sequence begins with its end.
        for await status in engine.states() {
            guard case .stopped(let error) = status else { continue }
            if let error { throw error }
            return
        }
        await stop()
        throw CancellationError()
    }

    /// Connects, runs the body, and disconnects even if the body throws.
    public nonisolated func withConnection<T>(_ body: () async throws -> sending T) async throws -> sending T {
        try await start()
        do {
            let result = try await body()
            await stop()
            return result
        } catch {
            await stop()
            throw error
        }
    }

    /// Waits until there is a connection. Unlike ``start()``, the method begins no attempt.
    ///
    /// A timeout and the cancellation of the task end the wait, not the attempts.
    ///
    /// - Parameter timeout: The time limit of the wait. Default: no limit.
    /// - Throws: ``SignalRError/invalidOperation(_:)`` if the connection is stopped before or during the wait.
    ///   ``SignalRClientError`` with the code ``SignalRClientError/Code/waitTimedOut`` after the timeout.
    ///   `CancellationError` if the task is cancelled.
    public nonisolated func connected(timeout: Duration? = nil) async throws {
        try await engine.connected(within: timeout)
    }

    // MARK: Typed calls

    /// Calls a method of the server, and returns its result. See `invoke(method:arguments:)`.
    public nonisolated func invoke<each A: Encodable & Sendable, Result: Decodable & Sendable>(
        _ method: String,
        _ arguments: repeat each A,
        returning type: Result.Type
    ) async throws -> Result {
        let outcome = try await engine.invoke(method, encode(repeat each arguments))
        return try engine.coder.decode(type, from: outcome)
    }

    /// Calls a method of the server, and returns its result. See `invoke(method:arguments:)`.
    public nonisolated func invoke<each A: Encodable & Sendable, Result: Decodable & Sendable>(
        _ method: HubMethod<(repeat each A), Result>,
        _ arguments: repeat each A
    ) async throws -> Result {
        let outcome = try await engine.invoke(method.name, encode(repeat each arguments))
        return try engine.coder.decode(Result.self, from: outcome)
    }

    // For the compiler, a pack of one type in parentheses is not the same as the type itself. So both forms need an
    // overload.

    /// Calls a method of the server with one argument, and returns its result. See `invoke(method:arguments:)`.
    public nonisolated func invoke<Argument: Encodable & Sendable, Result: Decodable & Sendable>(
        _ method: HubMethod<Argument, Result>,
        _ argument: Argument
    ) async throws -> Result {
        let outcome = try await engine.invoke(method.name, encode(argument))
        return try engine.coder.decode(Result.self, from: outcome)
    }

    /// Calls a method of the server, and returns the stream of its items. See ``stream(method:arguments:)``.
    public nonisolated func stream<each A: Encodable & Sendable, Element: Decodable & Sendable>(
        _ method: String,
        _ arguments: repeat each A,
        of type: Element.Type
    ) async throws -> HubStream<Element> {
        HubStream(lease: try await engine.stream(method, encode(repeat each arguments)))
    }

    /// Calls a method of the server, and returns the stream of its items. See ``stream(method:arguments:)``.
    public nonisolated func stream<each A: Encodable & Sendable, Element: Decodable & Sendable>(
        _ method: HubMethod<(repeat each A), Element>,
        _ arguments: repeat each A
    ) async throws -> HubStream<Element> {
        HubStream(lease: try await engine.stream(method.name, encode(repeat each arguments)))
    }

    /// Calls a method of the server with one argument, and returns the stream of the method's items. See
    /// ``stream(method:arguments:)``.
    public nonisolated func stream<Argument: Encodable & Sendable, Element: Decodable & Sendable>(
        _ method: HubMethod<Argument, Element>,
        _ argument: Argument
    ) async throws -> HubStream<Element> {
        HubStream(lease: try await engine.stream(method.name, encode(argument)))
    }

    private nonisolated func encode<each A: Encodable>(_ arguments: repeat each A) throws -> CallArguments {
        var encoded = CallArguments()
        var index = 0
        for argument in repeat each arguments {
            try encoded.add(argument, index: index, engine.coder)
            index += 1
        }
        return encoded
    }

    /// Returns the server's calls of a method, as a sequence of their arguments. The client registers a handler before
    /// this method returns, and removes the handler when the sequence is released. The sequence ends after
    /// ``off(method:)``, and after the app has released the connection.
    ///
    /// - Parameters:
    ///   - method: The name of the method.
    ///   - type: The types of the arguments, as a tuple.
    ///   - limit: The maximum number of calls that wait for a consumer. If more arrive, the sequence drops the oldest
    ///     calls. Default: 4,096.
    public nonisolated func messages<each T: Decodable & Sendable>(
        of method: String,
        as type: (repeat each T).Type,
        limit: Int = 4_096
    ) -> AsyncStream<(repeat each T)> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: (repeat each T).self,
            bufferingPolicy: .bufferingNewest(limit)
        )
        let coder = engine.coder
        let id = engine.addHandler(method, isConcurrent: false) { arguments in
            continuation.yield(try Self.decode(arguments, coder, as: type))
            return nil
        } onRemoval: {
            continuation.finish()
        }
        continuation.onTermination = { [handlers = engine.handlers] _ in handlers.remove(method, id) }
        return stream
    }
}
