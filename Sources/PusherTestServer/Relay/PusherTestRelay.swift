import NIOCore
import NIOPosix

/// A TCP relay between clients and a server, for testing clients over a bad network.
///
/// It listens on this machine only, connects each client to the server, and passes bytes on without inspecting them,
/// with and without TLS. The exception is ``blockUpgrades(with:)``. On command it imitates the failures of networks. If
/// one side ends its half of a connection, the relay ends both halves after it has passed on the bytes that it had
/// read.
///
/// ```swift
/// var options = PusherTestServer.Options()
/// options.activityTimeout = 1  // else the app asks after 120 s whether the server is there
/// try await PusherTestServer.withServer(options: options) { server in
///     try await PusherTestRelay.withRelay(to: server) { relay in
///         // its client has options.timeouts.connectionAttempt = .seconds(2), and .pong = .seconds(1)
///         let app = MyApp(host: relay.host, port: relay.port, key: server.options.application.key)
///         let first = try await relay.nextConnection()
///         relay.fail(with: .swallowed)
///         try await relay.nextConnection(after: first)  // the app has noticed the silence, and tries again
///         relay.passOn()
///         try await server.waitForSubscription(to: "news")
///     }
/// }
/// ```
///
/// Every method may be called from any thread or task, at any time. A fault applies to all bytes that the relay reads
/// after the call.
public final class PusherTestRelay: Sendable {
    /// The options of the relay.
    public let options: Options

    let engine: RelayEngine

    /// Makes a relay that does not listen yet; see ``start()``.
    public init(options: Options) {
        self.options = options
        self.engine = RelayEngine(options: options, eventLoop: MultiThreadedEventLoopGroup.singleton.any())
    }

    /// Makes a relay to a server that has been started.
    public convenience init(to server: PusherTestServer) {
        self.init(options: Options(serverHost: server.host, serverPort: server.port))
    }

    /// A relay that is released without ``shutdown()`` ends by itself, a little later.
    deinit { _ = engine.beginShutdown() }

    /// Binds the port and starts to accept connections. Does nothing if the relay listens already.
    ///
    /// A relay that is started again, after ``shutdown()`` or ``stopListening()``, binds the port that it had before.
    /// - Throws: ``PusherTestServer/PusherTestServer/ServerError`` with
    ///   ``PusherTestServer/PusherTestServer/ServerError/Code/bindFailed``.
    public func start() async throws { try await engine.start().get() }

    /// Stops listening until ``start()``: the system refuses new connections. Open connections continue.
    public func stopListening() async {
        // The future never fails: a socket that has already ended counts as closed.
        try? await engine.stopListening().get()
    }

    /// Ends all connections and stops listening. When it returns, no socket is left. Records and faults are kept.
    public func shutdown() async {
        // The future never fails, as above.
        try? await engine.beginShutdown().get()
    }

    /// The address that clients connect to; see ``Options/host``.
    public var host: String { options.host }

    /// The port that the relay listens on, or listened on last; 0 before the first ``start()`` if ``Options/port`` is
    /// 0.
    public var port: Int { engine.port }

    /// Starts a relay to a server, calls `body`, and shuts the relay down whether `body` returns or throws.
    /// - Throws: the error that ``start()`` or `body` throws.
    public static func withRelay<Result>(
        to server: PusherTestServer,
        _ body: (PusherTestRelay) async throws -> Result
    ) async throws -> Result {
        try await withRelay(options: Options(serverHost: server.host, serverPort: server.port), body)
    }

    /// Starts a relay, calls `body`, and shuts the relay down whether `body` returns or throws.
    /// - Throws: the error that ``start()`` or `body` throws.
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
