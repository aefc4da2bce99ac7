import NIOCore
import SignalRClient
import SignalRCore

/// A call of a method of the test hub, with its caller and its streams.
public struct TestHubCall: Sendable {
    /// The caller's connection.
    public let connection: TestHubConnection
    private let id: String?
    private let method: String
    private let uploads: [UploadBuffer]

    init(_ connection: TestHubConnection, _ id: String?, method: String, _ uploads: [UploadBuffer]) {
        self.connection = connection
        self.id = id
        self.method = method
        self.uploads = uploads
    }

    /// The id of the caller's connection.
    public var connectionID: String { connection.id }
    /// The header fields of the caller; see ``TestHubConnection/headers``.
    public var headers: [String: String] { connection.headers }

    var coder: HubCoder { connection.coder }
    var token: String { connection.token }

    /// Returns the items of a stream that the caller uploads. The sequence is empty if the caller uploads no stream
    /// with that index. It throws a `HubError` if the caller ends the stream with an error, or if an item does not fit the
    /// type, and `CancellationError` if the connection ends.
    public func upload<T: Decodable & Sendable>(_ index: Int, of type: T.Type) -> some AsyncSequence<T, any Error> {
        upload(index).map { [connection, method] item in
            do {
                return try connection.coder.decode(type, from: item)
            } catch {
                let reason = "The item does not fit '\(type)': \(HubBrain.text(of: error))"
                connection.entrance.enter { [id = connection.id] brain in
                    brain.shared.failed(TestHubFailure(connectionID: id, method: method, reason: reason))
                }
                // ASP.NET Core ends the stream with this error.
                throw HubError("Failed to bind Stream message.")
            }
        }
    }

    func upload(_ index: Int) -> some AsyncSequence<EncodedValue, any Error> {
        guard uploads.indices.contains(index) else {
            let none = UploadBuffer()
            none.finish()
            return none.items
        }
        return uploads[index].items
    }

    /// Calls a method of the caller, without waiting for an answer.
    public func send<each A: Encodable & Sendable>(_ method: String, _ arguments: repeat each A) throws {
        try connection.send(method, repeat each arguments)
    }

    /// Calls a method of the caller, and returns its result; see
    /// ``TestHubConnection/invoke(_:_:returning:timeout:)``.
    public func invoke<each A: Encodable & Sendable, T: Decodable & Sendable>(
        _ method: String,
        _ arguments: repeat each A,
        returning type: T.Type,
        timeout: Duration? = nil
    ) async throws -> T {
        try await connection.invoke(method, repeat each arguments, returning: type, timeout: timeout)
    }

    /// Closes the caller's connection; see ``TestHubConnection/close(error:allowReconnect:)``.
    public func close(error: String? = nil, allowReconnect: Bool = false) {
        connection.close(error: error, allowReconnect: allowReconnect)
    }

    /// Drops the transport of the caller's connection; see ``TestHubConnection/drop()``.
    public func drop() { connection.drop() }

    /// Sends an item of the stream that answers the call.
    func item(_ item: EncodedValue) async {
        guard let id else { return }
        connection.entrance.enter { [token] brain in
            guard let connection = brain.connections[token], connection.isRunning(id) else { return }
            brain.transmit(.streamItem(id: id, item: item), to: connection)
        }
        // A method that does not wait for the event loop can add items faster than the event loop sends them. The
        // event loop then reads nothing, not even the message that cancels the stream.
        try? await connection.entrance.eventLoop.submit {}.get()
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
