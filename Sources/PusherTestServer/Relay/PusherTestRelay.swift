import NIOCore
import NIOPosix

/// A TCP relay between clients and a server, for testing clients over a bad network.
///
/// The relay listens on this machine only. It connects each client to the server, and passes bytes on, with and without
/// TLS. Only ``blockUpgrades(with:)`` inspects bytes. On command, the relay imitates the failures of networks. If one
/// side closes its connection, the relay first passes on the bytes that it has read. Then the relay closes the
/// connection to the other side.
///
/// ```swift
/// var options = PusherTestServer.Options()
/// options.activityTimeout = 1  // otherwise, the app pings only after 120 s
/// try await PusherTestServer.withServer(options: options) { server in
///     try await PusherTestRelay.withRelay(to: server) { relay in
///         // The app sets options.timeouts.connectionAttempt = .seconds(2), and .pong = .seconds(1).
///         let app = MyApp(host: relay.host, port: relay.port, key: server.options.application.key)
///         let first = try await relay.nextConnection()
///         relay.fail(with: .swallowed)
///         try await relay.nextConnection(after: first)  // the app has detected the loss, and reconnects
///         relay.passOn()
///         try await server.waitForSubscription(to: "news")
///     }
/// }
/// ```
///
/// You can call every method from any thread or task, at any time. A fault applies to all bytes that the relay reads
/// after the call.
public final class PusherTestRelay: Sendable {
    /// The options of the relay.
    public let options: Options

    let engine: RelayEngine

    /// Creates a relay that does not listen until ``start()``.
    public init(options: Options) {
        self.options = options
        self.engine = RelayEngine(options: options, eventLoop: MultiThreadedEventLoopGroup.singleton.any())
    }

    /// Creates a relay to a server that already runs.
    public convenience init(to server: PusherTestServer) {
        self.init(options: Options(serverHost: server.host, serverPort: server.port))
    }

    /// Shuts down a relay that the app releases without ``shutdown()``. The shutdown finishes a little later.
    deinit { _ = engine.beginShutdown() }

    /// Binds the port and starts to accept connections. Does nothing if the relay already listens.
    ///
    /// If you start the relay again after ``shutdown()`` or ``stopListening()``, it binds the same port.
    /// - Throws: ``PusherTestServer/PusherTestServer/ServerError`` with
    ///   ``PusherTestServer/PusherTestServer/ServerError/Code/bindFailed``.
    public func start() async throws { try await engine.start().get() }

    /// Stops listening until ``start()``. The system refuses new connections, and open connections continue.
    public func stopListening() async {
        // The future never fails, because the engine ignores errors of sockets that are already closed.
        try? await engine.stopListening().get()
    }

    /// Closes all connections and stops listening. When the method returns, no socket is open. The relay keeps its
    /// records and faults.
    public func shutdown() async {
        // The future never fails, because the engine ignores errors of sockets that are already closed.
        try? await engine.beginShutdown().get()
    }

    /// The address to which clients connect; see ``Options/host``.
    public var host: String { options.host }

    /// The port on which the relay listens, or listened last. The value is 0 before the first ``start()`` if
    /// ``Options/port`` is 0.
    public var port: Int { engine.port }

    /// Starts a relay to a server, calls `body`, and shuts the relay down whether `body` returns or throws.
    /// - Throws: The error that ``start()`` or `body` throws.
    public static func withRelay<Result>(
        to server: PusherTestServer,
        _ body: (PusherTestRelay) async throws -> Result
    ) async throws -> Result {
        try await withRelay(options: Options(serverHost: server.host, serverPort: server.port), body)
    }

    /// Starts a relay, calls `body`, and shuts the relay down whether `body` returns or throws.
    /// - Throws: The error that ``start()`` or `body` throws.
    public static func withRelay<Result>(
        options: Options,
        _ body: (PusherTestRelay) async throws -> Result
    ) async throws -> Result {
        let relay = PusherTestRelay(options: options)
        try await relay.start()
        do {
            let result = try await body(relay)
            await relay.shutdown()
            return result
        } catch {
            await relay.shutdown()
            throw error
        }
    }
}
