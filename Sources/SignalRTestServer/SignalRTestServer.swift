import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
public import SignalRClient
package import SignalRCore

/// A hub in the process of the test. The hub uses a port of the loopback interface, or works in memory without a port.
///
/// ```swift
/// let server = try await SignalRTestServer.start()
/// server.on("Greet") { (_, name: String) in "Hello, \(name)!" }
/// let connection = HubConnectionBuilder().withUrl(url: server.url).build()
/// try await connection.start()
/// let greeting: String = try await connection.invoke(method: "Greet", arguments: "Ann")
/// await server.shutdown()
/// ```
/// Every hub has these methods: `echo(value)`, `add(a, b)`, `nothing()`, `null()`, `fail(text)`, `crash()`,
/// `slow(seconds)`, `broadcast(method, value)`, `call_me(method, values…)`, `ask_me(method, values…)`,
/// `add_stream(upload)`, `headers()`, `connection_id()`, `close_me(error, allowReconnect)` and `drop_me()`. The hub
/// also has the streams `counter(n, delay)`, `counter_fail(n, delay)` and `echo_stream(upload)`. `ask_me` returns the
/// result of the client's handler. `broadcast` calls only clients with the caller's hub protocol.
public final class SignalRTestServer: Sendable {
    /// The path of the hub. Requests for other paths get status 404.
    static let path = "/hub"

    let shared = SharedRecords()
    let entrance: HubEntrance
    private let listener: NIOLockedValueBox<(channel: any Channel, port: Int)?> = NIOLockedValueBox(nil)
    private let keepAlive: NIOLockedValueBox<RepeatedTask?> = NIOLockedValueBox(nil)

    private init(_ options: TestHubOptions, on eventLoop: any EventLoop) async throws {
        let entrance = HubEntrance(on: eventLoop)
        self.entrance = entrance
        let shared = shared
        try await eventLoop.submit { entrance.open(HubBrain(options, shared: shared, entrance: entrance)) }.get()
        let interval = max(TimeAmount(Duration(clampingSeconds: options.keepAliveInterval)), .milliseconds(1))
        let task = eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
            entrance.enter { $0.keepAlive() }
        }
        keepAlive.withLockedValue { $0 = task }
    }

    // MARK: Starting

    /// Starts a hub on a port of the loopback interface.
    ///
    /// - Parameter options: The options, for example a fixed port. Default: a free port.
    /// - Throws: `SignalRClientError` if the server cannot listen on the port.
    public static func start(options: TestHubOptions = TestHubOptions()) async throws -> SignalRTestServer {
        let server = try await SignalRTestServer(options, on: MultiThreadedEventLoopGroup.singleton.next())
        do {
            let channel = try await HubListener.bind(server, port: options.port)
            server.listener.withLockedValue { $0 = (channel, channel.localAddress?.port ?? 0) }
            return server
        } catch {
            await server.shutdown()
            throw error
        }
    }

    /// Creates a hub without a socket. ``connect(_:)`` makes connections to such a hub.
    public static func inMemory(options: TestHubOptions = TestHubOptions()) async throws -> SignalRTestServer {
        try await SignalRTestServer(options, on: MultiThreadedEventLoopGroup.singleton.next())
    }

    /// Makes the connections of a builder use this hub, without a socket and without a negotiation.
    public func connect(_ builder: HubConnectionBuilder) -> HubConnectionBuilder {
        builder.withOpener(InMemoryOpener(self))
    }

    /// The URL of the hub, on loopback.
    public var url: String { "http://127.0.0.1:\(port)\(Self.path)" }

    /// The port; 0 for a hub without a socket.
    public var port: Int { listener.withLockedValue { $0?.port ?? 0 } }

    /// Closes all connections, and stops listening. Afterwards, connecting fails, also in memory.
    public func shutdown() async {
        keepAlive.withLockedValue { $0 }?.cancel()
        try? await listener.withLockedValue { $0 }?.channel.close().get()
        await change { $0.shutDown() }
    }

    func enter(_ body: @escaping @Sendable (HubBrain) -> Void, closed: @escaping @Sendable () -> Void = {}) {
        entrance.enter(body, closed: closed)
    }

    private func change(_ body: @escaping @Sendable (HubBrain) -> Void) async {
        await withCheckedContinuation { continuation in
            enter { brain in
                body(brain)
                continuation.resume()
            } closed: {
                continuation.resume()
            }
        }
    }

    // MARK: Methods

    /// Registers a method. The methods of one connection run one after the other. A method with the name of a built-in
    /// method replaces that method.
    ///
    /// If the closure throws a `HubError`, the caller gets ASP.NET Core's message, which ends with the error's message.
    /// After any other error, the caller learns only that the method failed. ``failures`` contains the error.
    public func on<each T: Decodable & Sendable, R: Encodable & Sendable>(
        _ name: String,
        _ method: @escaping @concurrent @Sendable (TestHubCall, repeat each T) async throws -> R
    ) {
        register(name) { call, arguments in
            let values = try HubConnection.decode(arguments, call.coder, as: (repeat each T).self)
            return .value(try call.coder.encode(try await method(call, repeat each values)))
        }
    }

    /// Registers a method without a result.
    public func on<each T: Decodable & Sendable>(
        _ name: String,
        _ method: @escaping @concurrent @Sendable (TestHubCall, repeat each T) async throws -> Void
    ) {
        register(name) { call, arguments in
            let values = try HubConnection.decode(arguments, call.coder, as: (repeat each T).self)
            try await method(call, repeat each values)
            return .void
        }
    }

    /// Registers a method without a result, and returns the calls of all clients as a sequence of their arguments. The
    /// sequence ends after ``shutdown()``, and after another registration of the same name.
    ///
    /// - Parameters:
    ///   - name: The name of the method.
    ///   - type: The types of the arguments, as a tuple.
    public func calls<each T: Decodable & Sendable>(
        of name: String,
        as type: (repeat each T).Type
    ) -> AsyncStream<(repeat each T)> {
        let (stream, continuation) = AsyncStream.makeStream(of: (repeat each T).self)
        register(name) { call, arguments in
            continuation.yield(try HubConnection.decode(arguments, call.coder, as: type))
            return .void
        } onRemoval: {
            continuation.finish()
        }
        return stream
    }

    private func register(
        _ name: String,
        _ method: @escaping HubBrain.Method,
        onRemoval: @escaping @Sendable () -> Void = {}
    ) {
        enter {
            $0.register(name, method, onRemoval: onRemoval)
        } closed: {
            onRemoval()
        }
    }

    /// Calls a method on all clients.
    public func sendAll<each A: Encodable & Sendable>(_ method: String, _ arguments: repeat each A) {
        enter { brain in
            for connection in brain.connections.values {
                guard let coder = connection.coder else { continue }
                var encoded: [EncodedValue] = []
                for argument in repeat each arguments {
                    if let value = try? coder.encode(argument) { encoded.append(value) }
                }
                brain.transmit(.invocation(HubInvocation(target: method, arguments: encoded)), to: connection)
            }
        }
    }

    // MARK: Faults

    /// Makes requests fail.
    ///
    /// - Parameters:
    ///   - step: The kind of requests that fail.
    ///   - fault: The server's reaction to these requests.
    ///   - skip: The number of requests that the server answers correctly first. Default: none.
    ///   - count: The number of requests that fail. Default: 1.
    public func fail(_ step: TestHubStep, _ fault: TestHubFault, after skip: Int = 0, times count: Int = 1) async {
        await change { $0.faults.append((step, fault, skip, count)) }
    }

    /// Sets the server's answer to handshakes.
    public func setHandshake(_ handshake: TestHubHandshake) async { await change { $0.handshake = handshake } }

    /// Redirects each negotiation to this server.
    ///
    /// - Parameters:
    ///   - count: The number of redirects in a negotiation.
    ///   - token: The access token in each redirect, which replaces the client's token. Default: `nil`, for redirects
    ///     without a token.
    public func redirect(times count: Int, token: String? = nil) async {
        await change { brain in
            brain.redirects = count
            brain.redirectToken = token
        }
    }

    /// Splits all data that the server sends into pieces of this size. `nil` turns the splitting off.
    public func cut(intoPiecesOf size: Int?) async { await change { $0.pieceSize = size } }

    /// Sets whether the server ignores all messages and sends nothing. If the server has ignored a message of a
    /// resumable connection, the connection can continue only over a new transport. See ``dropConnections()``.
    public func setSilent(_ isSilent: Bool) async { await change { $0.isSilent = isSilent } }

    /// Drops all transports at once, like a network failure.
    public func dropConnections() {
        enter { brain in for connection in brain.connections.values { connection.link?.drop() } }
    }

    /// Removes all connections without a transport, so that clients cannot resume them.
    public func forgetLostConnections() async {
        await change { brain in
            for connection in Array(brain.connections.values) where connection.link == nil { brain.end(connection) }
        }
    }

    /// Sends a Close message to all clients, and closes their transports.
    public func closeConnections(error: String? = nil, allowReconnect: Bool = false) {
        enter { brain in
            for connection in Array(brain.connections.values) {
                brain.close(connection, error: error, allowReconnect: allowReconnect)
            }
        }
    }

    /// Lets the authentication of all connections expire now, as after ``TestHubOptions/tokenLifetime``.
    public func expireTokens() {
        enter { brain in for connection in Array(brain.connections.values) { brain.expire(connection) } }
    }

    /// Sends raw bytes to all clients.
    public func sendBytes(_ bytes: [UInt8]) {
        enter { brain in for connection in brain.connections.values { brain.write(bytes, to: connection) } }
    }

    // MARK: Records

    /// The requests so far, in order.
    public var requests: [TestHubRequest] { shared.records.requests }

    /// The failed calls of methods so far, in order, with the reasons. The caller may not get the reason.
    public var failures: [TestHubFailure] { shared.records.failures }

    /// The number of connections that have completed a handshake.
    public var connectionCount: Int { shared.records.connected.count }

    /// The messages from clients so far, in order.
    package var messages: [HubMessage] { shared.records.messages }

    /// Deletes the records, to save memory in long runs. Afterwards, the counts start from zero.
    package func forgetRecords() { shared.forget() }

    /// Waits until `count` connections have completed a handshake since the start of the server. Returns early if the
    /// task is cancelled.
    public func waitForConnections(_ count: Int) async { await shared.wait { $0.connected.count >= count } }

    /// Waits until `count` connections have ended since the start of the server. Returns early if the task is
    /// cancelled.
    public func waitForEnds(_ count: Int) async { await shared.wait { $0.ended.count >= count } }

    /// Waits until there is a message from a client that meets the condition.
    package func waitForMessage(_ isWanted: @escaping @Sendable (HubMessage) -> Bool) async {
        await shared.wait { $0.messages.contains(where: isWanted) }
    }

    /// Waits until the requests meet the condition.
    package func waitForRequests(_ isMet: @escaping @Sendable ([TestHubRequest]) -> Bool) async {
        await shared.wait { isMet($0.requests) }
    }
}
