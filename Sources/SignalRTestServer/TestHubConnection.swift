import NIOCore
import RealtimePrimitives
public import SignalRClient
import SignalRCore

/// A connection of a client to a ``SignalRTestServer``, after its handshake.
///
/// You can call every method from any thread or task. If the connection has ended, methods without a result do nothing.
public struct TestHubConnection: Sendable, Identifiable {
    /// The id of the connection, which clients know.
    public let id: String
    /// The header fields of the negotiation, or of the upgrade without a negotiation, with the `authorization` of the last
    /// refresh. The names are in lower case. Empty for a hub in memory.
    public let headers: [String: String]
    /// The parameters of the query of the same request.
    public let query: [String: String]
    /// The user, from ``TestHubOptions/authorize``.
    public let userID: String?
    /// The transport of the client.
    public let transport: HttpTransportType
    /// The encoding of messages.
    public let hubProtocol: HubProtocolType
    let token: String
    let coder: HubCoder
    let entrance: HubEntrance

    init(_ connection: ServerConnection, _ coder: HubCoder, _ entrance: HubEntrance) {
        id = connection.id
        headers = connection.headers
        query = connection.query
        userID = connection.userID
        transport = connection.link?.transport ?? .webSockets
        hubProtocol = coder.hubProtocol == .json ? .json : .messagePack
        token = connection.token
        self.coder = coder
        self.entrance = entrance
    }

    private func enter(_ body: @escaping @Sendable (HubBrain, ServerConnection) -> Void) {
        entrance.enter { [token] brain in if let connection = brain.connections[token] { body(brain, connection) } }
    }

    // MARK: Calls

    /// Calls a method of the client, without waiting for an answer.
    public func send<each A: Encodable & Sendable>(_ method: String, _ arguments: repeat each A) throws {
        var encoded: [EncodedValue] = []
        for argument in repeat each arguments { encoded.append(try coder.encode(argument)) }
        let invocation = HubInvocation(target: method, arguments: encoded)
        enter { brain, connection in brain.transmit(.invocation(invocation), to: connection) }
    }

    /// Calls a method of the client, and returns its result.
    ///
    /// - Parameters:
    ///   - method: The name of the client's method.
    ///   - arguments: The arguments.
    ///   - type: The type of the result.
    ///   - timeout: The time to wait for the result. Default: `nil`, which means without limit.
    /// - Throws: `HubError` with the client's message if the method failed, and with "Invocation canceled by the
    ///   server." after the timeout or if the task is cancelled. `CancellationError` if the connection has ended, or ends
    ///   before the result. Throws also if an argument or the result cannot be encoded or decoded. A hub method that does
    ///   not catch a `HubError` passes its message on to its caller.
    public func invoke<each A: Encodable & Sendable, T: Decodable & Sendable>(
        _ method: String,
        _ arguments: repeat each A,
        returning type: T.Type,
        timeout: Duration? = nil
    ) async throws -> T {
        var encoded: [EncodedValue] = []
        for argument in repeat each arguments { encoded.append(try coder.encode(argument)) }
        let outcome = try await invoke(method, encoded, timeout: timeout)
        do {
            return try coder.decode(type, from: outcome)
        } catch {
            let reason = DecodingFailure.explanation(of: (error as? SignalRClientError)?.cause ?? error)
            throw HubError("Error trying to deserialize result to \(type). \(reason)")
        }
    }

    func invoke(_ method: String, _ arguments: [EncodedValue], timeout: Duration? = nil) async throws -> HubOutcome {
        // Only the event loop changes the id, so a cancellation that comes first finds none.
        let call = NIOLoopBoundBox<(id: String?, isCancelled: Bool)>.makeBoxSendingValue(
            (nil, false),
            eventLoop: entrance.eventLoop
        )
        let cancel: @Sendable () -> Void = { [token] in
            entrance.enter { brain in
                call.value.isCancelled = true
                guard let id = call.value.id else { return }
                let waiting = brain.connections[token]?.clientCalls.removeValue(forKey: id)
                waiting?.resume(throwing: Self.cancellation)
            }
        }
        let timer = timeout.map { entrance.eventLoop.scheduleTask(in: TimeAmount($0), cancel) }
        defer { timer?.cancel() }
        let outcome: HubOutcome = try await withCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                entrance.enter { [token] brain in
                    guard let connection = brain.connections[token] else {
                        return continuation.resume(throwing: CancellationError())
                    }
                    if call.value.isCancelled { return continuation.resume(throwing: Self.cancellation) }
                    connection.clientCallCount += 1
                    let id = "s\(connection.clientCallCount)"
                    call.value.id = id
                    connection.clientCalls[id] = continuation
                    let invocation = HubInvocation(id: id, target: method, arguments: arguments)
                    brain.transmit(.invocation(invocation), to: connection)
                } closed: {
                    continuation.resume(throwing: CancellationError())
                }
            }
        } onCancel: {
            cancel()
        }
        if case .error(let text) = outcome { throw HubError(text) }
        return outcome
    }

    private static let cancellation = HubError("Invocation canceled by the server.")

    // MARK: Groups

    /// Adds the connection to a group.
    public func join(_ group: String) {
        enter { brain, connection in brain.groups[group, default: []].insert(connection.token) }
    }

    /// Removes the connection from a group.
    public func leave(_ group: String) {
        enter { brain, connection in brain.groups[group]?.remove(connection.token) }
    }

    // MARK: Ends and faults

    /// Sends a Close message, and closes the transport: a WebSocket with code 1000, server-sent events with the end of
    /// the stream, and long polling with status 204.
    public func close(error: String? = nil, allowReconnect: Bool = false) {
        enter { brain, connection in brain.close(connection, error: error, allowReconnect: allowReconnect) }
    }

    /// Closes the TCP connection of the transport without another byte, like a network failure.
    public func drop() { enter { _, connection in connection.link?.drop() } }

    /// Sends raw bytes: one WebSocket message, one event, or the body of a poll's answer.
    public func sendBytes(_ bytes: [UInt8]) { enter { brain, connection in brain.write(bytes, to: connection) } }

    /// Sets whether the server ignores all messages of this client, and sends it nothing; see
    /// ``SignalRTestServer/setSilent(_:)``.
    public func setSilent(_ isSilent: Bool) { enter { brain, connection in brain.setSilent(isSilent, connection) } }

    /// Splits what the server sends to this client; see ``SignalRTestServer/cut(intoPiecesOf:)``.
    public func cut(intoPiecesOf size: Int?) { enter { _, connection in connection.faults.pieceSize = size } }

    /// Sends several messages together to this client; see ``SignalRTestServer/join(messages:)``.
    public func join(messages count: Int?) { enter { _, connection in connection.faults.joinedMessages = count } }
}

/// The clients that get a call; see ``SignalRTestServer/send(to:_:_:)``.
public struct TestHubClients: Sendable {
    let isIncluded: @Sendable (ServerConnectionSummary) -> Bool

    /// All clients, except the connections with these ids.
    public static func all(except ids: Set<String> = []) -> Self { Self { !ids.contains($0.id) } }

    /// All clients.
    public static let all = Self.all()

    /// The connections with these ids.
    public static func connections(_ ids: Set<String>) -> Self { Self { ids.contains($0.id) } }

    /// The connection with this id.
    public static func connection(_ id: String) -> Self { connections([id]) }

    /// The members of a group, except the connections with these ids.
    public static func group(_ name: String, except ids: Set<String> = []) -> Self {
        Self { $0.groups.contains(name) && !ids.contains($0.id) }
    }

    /// The connections of a user; see ``TestHubOptions/authorize``.
    public static func user(_ id: String) -> Self { Self { $0.userID == id } }
}

/// The properties of a connection by which ``TestHubClients`` chooses.
struct ServerConnectionSummary {
    var id: String
    var userID: String?
    var groups: Set<String>
}

extension TestHubConnection: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The id and the transport.
    public var description: String { "TestHubConnection(id: \(id), transport: \(transport))" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension TestHubClients: CustomStringConvertible, CustomReflectable {
    /// The name of the type.
    public var description: String { "TestHubClients" }
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
