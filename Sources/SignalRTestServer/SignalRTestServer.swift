import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import RealtimeTestHTTP
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
    let shared = SharedRecords()
    let entrance: HubEntrance
    private let options: TestHubOptions
    /// The listener and the hubs behind it; nil for a hub in memory.
    private let site: HubSite?
    /// Whether this object has started the listener.
    private let ownsSite: Bool

    private init(_ options: TestHubOptions, _ site: HubSite?, isFirst: Bool = true) async throws {
        let eventLoop = site?.eventLoop ?? MultiThreadedEventLoopGroup.singleton.next()
        let entrance = HubEntrance(on: eventLoop)
        self.entrance = entrance
        var options = options
        options.path = HubSite.key(of: options.path)
        self.options = options
        self.site = site
        ownsSite = isFirst
        let shared = shared
        try await eventLoop.submit { [options] in
            let brain = HubBrain(options, shared: shared, entrance: entrance)
            entrance.open(brain)
            brain.start()
        }.get()
    }

    /// Shuts down a server that the app releases without ``shutdown()``. The shutdown finishes a little later. A hub of
    /// ``addHub(at:options:)`` lasts as long as its server.
    deinit {
        guard ownsSite else { return }
        entrance.enter { $0.shutDown() }
        site?.beginShutdown()
    }

    // MARK: Starting

    /// Starts a hub on a port of the loopback interface.
    ///
    /// - Parameter options: The options, for example a fixed port. Default: a free port.
    /// - Throws: `SignalRClientError` if the server cannot listen on the port, or cannot use the certificate.
    public static func start(options: TestHubOptions = TestHubOptions()) async throws -> SignalRTestServer {
        let site = try HubSite(options, on: MultiThreadedEventLoopGroup.singleton.next())
        let server = try await SignalRTestServer(options, site)
        do {
            // A client can come as soon as the port is bound.
            site.add(server.options.path, server.entrance, server.shared)
            try await site.start()
            return server
        } catch {
            await server.shutdown()
            throw error
        }
    }

    /// Runs a hub while `body` runs.
    public static func withServer<Result>(
        options: TestHubOptions = TestHubOptions(),
        _ body: (SignalRTestServer) async throws -> Result
    ) async throws -> Result {
        let server = try await start(options: options)
        do {
            let result = try await body(server)
            await server.shutdown()
            return result
        } catch {
            await server.shutdown()
            throw error
        }
    }

    /// Adds another hub to the same port, with methods, connections and records of its own. ``shutdown()`` of this server
    /// also closes the other hub.
    ///
    /// - Parameters:
    ///   - path: The path of the hub, for example `/chat`; see ``TestHubOptions/path``. A hub with the same path is
    ///     replaced and shut down.
    ///   - options: The options of the hub. Those for the port, the path, the certificate, the hosts and the origins have
    ///     no effect. Default: the options of this server.
    /// - Throws: `SignalRClientError` if this server is a hub in memory, which has no port.
    public func addHub(at path: String, options: TestHubOptions? = nil) async throws -> SignalRTestServer {
        guard let site else {
            throw SignalRClientError(
                .connectionFailed,
                "Hub not added: a hub in memory has no port to share. Make another one with inMemory(options:)."
            )
        }
        var options = options ?? self.options
        // The URLs of redirects also have the scheme of the site.
        (options.path, options.certificate) = (path, self.options.certificate)
        let hub = try await SignalRTestServer(options, site, isFirst: false)
        site.add(hub.options.path, hub.entrance, hub.shared)
        return hub
    }

    /// Answers requests for a path that is not a hub's. The path of a hub's negotiation, such as `/hub/negotiate`, is the
    /// hub's, unless there is no hub at `/hub`.
    ///
    /// - Parameters:
    ///   - path: The path, without a query. A slash at its end has no meaning.
    ///   - respond: A closure that makes the answer. If it throws, the answer is status 500.
    public func respond(
        at path: String,
        _ respond: @escaping @Sendable (TestHubRequest) async throws -> TestHubResponse
    ) {
        site?.respond(at: path, respond)
    }

    /// Creates a hub without a socket. ``connect(_:)`` makes connections to such a hub.
    public static func inMemory(options: TestHubOptions = TestHubOptions()) async throws -> SignalRTestServer {
        try await SignalRTestServer(options, nil)
    }

    /// Makes the connections of a builder use this hub, without a socket and without a negotiation.
    public func connect(_ builder: HubConnectionBuilder) -> HubConnectionBuilder {
        builder.withOpener(InMemoryOpener(self))
    }

    /// The URL of the hub, on loopback.
    public var url: String {
        "\(site?.usesTLS == true ? "https://localhost" : "http://127.0.0.1"):\(port)\(options.path)"
    }

    /// The port; 0 for a hub without a socket.
    public var port: Int { site?.port ?? 0 }

    /// Closes all connections, and stops listening. Afterwards, connecting fails, also in memory.
    public func shutdown() async {
        await change { $0.shutDown() }
        if ownsSite {
            await site?.shutdown()
        } else {
            site?.remove(options.path, shared)
        }
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

    /// Registers a method. The methods of one connection run one after the other, except as
    /// ``TestHubOptions/maximumParallelCalls`` allows. Methods with uploads run beside the others, as in ASP.NET Core. A
    /// method with the name of a built-in method replaces that method.
    ///
    /// The method's task is cancelled if the caller cancels the call, or if the connection ends. If the closure throws a
    /// `HubError`, the caller gets ASP.NET Core's message, which ends with the error's message. After any other error, the
    /// caller learns only that the method failed. ``failures`` contains the error.
    ///
    /// - Parameters:
    ///   - name: The name of the method. Upper and lower case are equal.
    ///   - uploads: The number of streams that the caller uploads, which ``TestHubCall/upload(_:of:)`` returns. A call with
    ///     another number of streams fails. Default: 0.
    ///   - method: A closure that gets the call and its arguments without the streams, and returns the result.
    public func on<each T: Decodable & Sendable, R: Encodable & Sendable>(
        _ name: String,
        uploads: Int = 0,
        _ method: @escaping @concurrent @Sendable (TestHubCall, repeat each T) async throws -> R
    ) {
        register(name, uploads: uploads) { call, arguments in
            let values = try HubMethod.bind(arguments, call, as: (repeat each T).self)
            return .value(try call.coder.encode(try await method(call, repeat each values)))
        }
    }

    /// Registers a method without a result.
    public func on<each T: Decodable & Sendable>(
        _ name: String,
        uploads: Int = 0,
        _ method: @escaping @concurrent @Sendable (TestHubCall, repeat each T) async throws -> Void
    ) {
        register(name, uploads: uploads) { call, arguments in
            let values = try HubMethod.bind(arguments, call, as: (repeat each T).self)
            try await method(call, repeat each values)
            return .void
        }
    }

    /// Registers a method that answers with the items of a sequence. Streams run beside the other methods.
    ///
    /// If the client cancels the stream, or the connection ends, the task that iterates over the sequence is cancelled. If
    /// the sequence throws, the client gets the items before, and then the error, as with a method without a stream.
    public func on<each T: Decodable & Sendable, S: AsyncSequence>(
        _ name: String,
        uploads: Int = 0,
        _ method: @escaping @concurrent @Sendable (TestHubCall, repeat each T) async throws -> S
    ) where S: SendableMetatype, S.AsyncIterator: SendableMetatype, S.Element: Encodable & Sendable {
        register(name, uploads: uploads, streams: true) { call, arguments in
            let values = try HubMethod.bind(arguments, call, as: (repeat each T).self)
            let items = try await method(call, repeat each values)
            do {
                for try await item in items {
                    try Task.checkCancellation()
                    await call.item(try call.coder.encode(item))
                }
            } catch {
                throw StreamError(cause: error)
            }
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
            continuation.yield(try HubMethod.bind(arguments, call, as: type))
            return .void
        } onRemoval: {
            continuation.finish()
        }
        return stream
    }

    private func register(
        _ name: String,
        uploads: Int = 0,
        streams: Bool = false,
        _ method: @escaping HubMethod.Body,
        onRemoval: @escaping @Sendable () -> Void = {}
    ) {
        enter {
            let method = HubMethod(name: name, streams: streams, uploads: uploads, run: method)
            $0.register(method, onRemoval: onRemoval)
        } closed: {
            onRemoval()
        }
    }

    /// Registers a closure that runs after the handshake of each connection. Calls of the client wait until it has
    /// returned, with their uploads. Several closures run one after the other.
    public func onConnected(_ body: @escaping @Sendable (TestHubConnection) async -> Void) {
        enter { $0.connectedHandlers.append(body) }
    }

    /// Registers a closure that runs after the end of each connection that has completed its handshake, and after the
    /// closures of ``onConnected(_:)`` have returned. The text is the error of the Close message, or the reason for which
    /// the server closed the connection; `nil` without an error.
    public func onDisconnected(_ body: @escaping @Sendable (TestHubConnection, String?) async -> Void) {
        enter { $0.disconnectedHandlers.append(body) }
    }

    /// Registers a closure that runs after each refresh of a connection's authentication.
    public func onRefreshed(_ body: @escaping @Sendable (TestHubConnection) async -> Void) {
        enter { $0.refreshedHandlers.append(body) }
    }

    // MARK: Calls of clients

    /// The open connections, in the order of their handshakes. A connection that a client can resume is open until the
    /// server forgets it.
    public var connections: [TestHubConnection] { shared.records.open }

    /// Calls a method on some clients.
    ///
    /// If an argument cannot be encoded, such as a number that is not finite in JSON, the client gets no call, and
    /// ``failures`` contains the reason.
    public func send<each A: Encodable & Sendable>(
        to clients: TestHubClients,
        _ method: String,
        _ arguments: repeat each A
    ) {
        let arguments = (repeat each arguments)
        enter { brain in brain.send(to: clients, method, (repeat each arguments)) }
    }

    /// Calls a method on all clients; see ``send(to:_:_:)``.
    public func sendAll<each A: Encodable & Sendable>(_ method: String, _ arguments: repeat each A) {
        send(to: .all, method, repeat each arguments)
    }

    // MARK: Faults

    /// Makes requests fail.
    ///
    /// - Parameters:
    ///   - step: The kind of requests that fail.
    ///   - fault: The server's reaction to these requests.
    ///   - skip: The number of requests that the server answers correctly first. Default: none.
    ///   - count: The number of requests that fail; none if it is not positive. Default: 1.
    public func fail(_ step: TestHubStep, _ fault: TestHubFault, after skip: Int = 0, times count: Int = 1) async {
        guard count > 0 else { return }
        await change { $0.stepFaults.append((step, fault, skip, count)) }
    }

    /// Sets the server's answer to handshakes.
    public func setHandshake(_ handshake: TestHubHandshake) async { await change { $0.handshake = handshake } }

    /// Redirects each negotiation to this server, with a `url` in its answer and no connection.
    ///
    /// - Parameters:
    ///   - count: The number of redirects in a negotiation.
    ///   - token: The access token in each redirect, which replaces the client's token. Requests after the redirect
    ///     need this token, and the redirected negotiation needs none. Default: `nil`, for redirects without a token.
    public func redirect(times count: Int, token: String? = nil) async {
        await change { brain in
            brain.redirects = count
            brain.redirectToken = token
        }
    }

    /// Splits everything that the server sends into pieces of this size, in bytes. `nil` turns the splitting off.
    ///
    /// A WebSocket message becomes fragments: one frame of the message's opcode without FIN, and continuation frames. An
    /// event, and the body of a poll's answer, are sent as pieces of the TCP stream; of an event, each is an HTTP chunk. A
    /// piece can end within a character.
    public func cut(intoPiecesOf size: Int?) async { await change { $0.faults.pieceSize = size } }

    /// Sends several hub messages together: in one WebSocket message, in one event, or in the body of one poll's answer.
    /// A message waits at most 20 ms for others. `nil` turns this off.
    public func join(messages count: Int?) async { await change { $0.faults.joinedMessages = count } }

    /// Sets whether the server ignores all messages and requests, and sends no byte: no message, no answer and no close
    /// frame, also not after ``TestHubOptions/clientTimeout`` and the other time limits.
    ///
    /// Requests and messages during the silence are lost, also those of the server. What the server wants to close
    /// during the silence, it closes at the end. If the server has ignored a message of a resumable connection, the
    /// connection can continue only over a new transport. See ``dropConnections()``, which works during the silence.
    public func setSilent(_ isSilent: Bool) async { await change { $0.setSilent(isSilent) } }

    /// Closes the TCP connections of all transports at once without another byte, like a network failure.
    public func dropConnections() {
        enter { brain in for connection in brain.connections.values { connection.link?.drop() } }
    }

    /// Removes all connections without a transport, so that clients cannot resume them: their requests get status 404.
    public func forgetLostConnections() async {
        await change { brain in
            for connection in Array(brain.connections.values) where connection.link == nil { brain.end(connection) }
        }
    }

    /// Sends a Close message to all clients, and closes their transports; see
    /// ``TestHubConnection/close(error:allowReconnect:)``.
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

    /// Sends raw bytes to all clients: one WebSocket message, one event, or the body of a poll's answer.
    public func sendBytes(_ bytes: [UInt8]) {
        enter { brain in for connection in brain.connections.values { brain.write(bytes, to: connection) } }
    }

    // MARK: Records

    /// The requests so far, in order.
    public var requests: [TestHubRequest] { shared.records.requests }

    /// The failed calls so far, in order, with the reasons: calls of methods, whose callers may not get the reason, items
    /// of uploads that do not fit, and calls of clients whose arguments could not be encoded.
    public var failures: [TestHubFailure] { shared.records.failures }

    /// The number of connections that have completed a handshake.
    public var connectionCount: Int { shared.records.connected.count }

    /// The messages from clients so far, in order.
    package var messages: [HubMessage] { shared.records.messages }

    /// Deletes the records, to save memory in long runs. Afterwards, the counts start from zero.
    package func forgetRecords() { shared.forget() }

    /// Waits until `count` connections have completed a handshake since the start of the server. Returns early if the
    /// task is cancelled.
    public func waitForConnections(count: Int = 1) async { await shared.wait { $0.connected.count >= count } }

    /// Waits until `count` connections have ended since the start of the server. Returns early if the task is
    /// cancelled.
    public func waitForDisconnections(count: Int = 1) async { await shared.wait { $0.ended.count >= count } }

    /// Waits until there is a message from a client that meets the condition.
    package func waitForMessage(_ isWanted: @escaping @Sendable (HubMessage) -> Bool) async {
        await shared.wait { $0.messages.contains(where: isWanted) }
    }

    /// Waits until the requests meet the condition.
    package func waitForRequests(_ isMet: @escaping @Sendable ([TestHubRequest]) -> Bool) async {
        await shared.wait { isMet($0.requests) }
    }
}
