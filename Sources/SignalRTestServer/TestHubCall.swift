import NIOCore
import SignalRClient
import SignalRCore

/// A call of a method of the test hub, with its caller and its streams.
public struct TestHubCall: Sendable {
    /// The id of the caller's connection.
    public let connectionID: String
    /// The header fields of the caller's negotiation or upgrade, with the `authorization` of the last refresh. The names are
    /// in lower case. Empty for a hub in memory.
    public let headers: [String: String]
    let token: String
    let coder: HubCoder
    private let id: String?
    private let uploads: [AsyncThrowingStream<EncodedValue, any Error>]
    private let entrance: HubEntrance

    init(
        _ connection: ServerConnection,
        _ id: String?,
        _ uploads: [AsyncThrowingStream<EncodedValue, any Error>],
        _ coder: HubCoder,
        _ entrance: HubEntrance
    ) {
        connectionID = connection.id
        headers = connection.headers
        token = connection.token
        self.coder = coder
        self.id = id
        self.uploads = uploads
        self.entrance = entrance
    }

    /// Returns the items of a stream that the caller uploads. The sequence is empty if the caller uploads no stream
    /// with that index.
    public func upload<T: Decodable & Sendable>(_ index: Int, of type: T.Type) -> some AsyncSequence<T, any Error> {
        upload(index).map { [coder] item in try coder.decode(type, from: item) }
    }

    func upload(_ index: Int) -> AsyncThrowingStream<EncodedValue, any Error> {
        uploads.indices.contains(index) ? uploads[index] : AsyncThrowingStream { $0.finish() }
    }

    /// Calls a method of the caller, without waiting for an answer.
    public func send<each A: Encodable & Sendable>(_ method: String, _ arguments: repeat each A) throws {
        var encoded: [EncodedValue] = []
        for argument in repeat each arguments { encoded.append(try coder.encode(argument)) }
        let invocation = HubInvocation(target: method, arguments: encoded)
        entrance.enter { [token] in $0.transmit(.invocation(invocation), toToken: token) }
    }

    /// Calls a method of the caller, and returns its result.
    ///
    /// - Throws: `SignalRError.invocationError` if the method failed. `CancellationError` if the connection has ended, or
    ///   ends before the result. Throws also if an argument or the result cannot be encoded or decoded.
    public func invoke<each A: Encodable & Sendable, T: Decodable & Sendable>(
        _ method: String,
        _ arguments: repeat each A,
        returning type: T.Type
    ) async throws -> T {
        var encoded: [EncodedValue] = []
        for argument in repeat each arguments { encoded.append(try coder.encode(argument)) }
        let outcome = try await invoke(method, encoded)
        if case .error(let text) = outcome { throw SignalRError.invocationError(text) }
        return try coder.decode(type, from: outcome)
    }

    func invoke(_ method: String, _ arguments: [EncodedValue]) async throws -> HubOutcome {
        try await withCheckedThrowingContinuation { continuation in
            entrance.enter { [token] brain in
                guard let connection = brain.connections[token] else {
                    return continuation.resume(throwing: CancellationError())
                }
                connection.clientCallCount += 1
                let id = "s\(connection.clientCallCount)"
                connection.clientCalls[id] = continuation
                let invocation = HubInvocation(id: id, target: method, arguments: arguments)
                brain.transmit(.invocation(invocation), to: connection)
            } closed: {
                continuation.resume(throwing: CancellationError())
            }
        }
    }

    /// Sends an item of the stream that answers the call.
    func item(_ item: EncodedValue) async {
        guard let id else { return }
        entrance.enter { [token] brain in
            guard brain.connections[token]?.running[id] != nil else { return }
            brain.transmit(.streamItem(id: id, item: item), toToken: token)
        }
        // A method that does not wait for the event loop can add items faster than the event loop sends them. The
        // event loop then reads nothing, not even the message that cancels the stream.
        try? await entrance.eventLoop.submit {}.get()
    }
}

extension TestHubCall: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The id of the caller's connection.
    public var description: String { "TestHubCall(connectionID: \(connectionID))" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
