import NIOCore
import NIOPosix
import PusherEncryption
public import struct PusherProtocol.TestServerAccess

/// A server that speaks the Pusher Channels protocol, for tests of clients.
///
/// It listens on this machine only. On one port, it accepts WebSocket connections (`ws`, or `wss` with a certificate of
/// yours), the REST API and a backend's authorization endpoints (`/pusher/auth`, `/pusher/user-auth`). It records
/// everything that it receives and does, and simulates faults on demand.
///
/// ```swift
/// try await PusherTestServer.withServer { server in
///     let options = PusherClientOptions(testing: server.access)
///     let app = MyApp(Pusher(key: server.access.key, options: options))
///     try await server.waitForSubscription(to: "news")
///     try server.publish(event: "flash", data: #"{"text":"hello"}"#, to: "news")
///     server.dropConnections()
///     try await server.waitForSubscription(to: "news")
/// }
/// ```
///
/// You can call every method from any thread or task, at any time. Commands take effect in the order of the calls.
/// Their effects happen on the server's own event loop.
public final class PusherTestServer: Sendable {
    /// The options that the server was created with. ``setActivityTimeout(_:)`` and the fault commands do not change
    /// them.
    public let options: Options

    let engine: ServerEngine
    /// Nil if clients reach the server through an ``InMemoryServer``.
    let listener: Listener?
    private let webhookSender: WebhookSender?

    /// Makes a server that does not listen yet; see ``start()``.
    public convenience init(options: Options = Options()) {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.any()
        let webhooks = options.webhookURL.map { WebhookSender(url: $0, application: options.application) }
        let engine = ServerEngine(
            options: options,
            eventLoop: eventLoop,
            webhooks: webhooks,
            unixTime: { SystemTime.unixSeconds }
        )
        let listener = Listener(options: options, engine: engine)
        self.init(options: options, engine: engine, listener: listener, webhooks: webhooks)
    }

    init(options: Options, engine: ServerEngine, listener: Listener?, webhooks: WebhookSender? = nil) {
        self.options = options
        self.engine = engine
        self.listener = listener
        self.webhookSender = webhooks
    }

    /// A server that is released without ``shutdown()`` ends by itself, a little later.
    deinit {
        listener?.beginShutdown()
        webhookSender?.beginShutdown()
    }

    /// Binds the port and starts to accept connections. Does nothing if the server listens already.
    ///
    /// A server that is started again after ``shutdown()`` uses the same port.
    /// - Throws: ``ServerError`` if the port is taken, the certificate or its key is invalid, or
    ///   ``Options/encryptionMasterKey`` is not a key.
    public func start() async throws {
        guard SecretKey(base64: options.encryptionMasterKey) != nil else {
            throw ServerError(.invalidEncryptionKey, "Invalid encryption master key: it is not the base64 of 32 bytes.")
        }
        try await listener?.start()
        webhookSender?.start()
    }

    /// Ends all connections, as if the process were killed, and stops listening. When it returns, no socket is open.
    ///
    /// Does nothing if the server does not listen. Records are kept.
    public func shutdown() async {
        let drop = { @Sendable [engine] in
            engine.step { brain in brain.dropConnections(.all) }
            engine.step { brain in brain.removeFakeMembers() }
        }
        // A client that reconnects at once must not be accepted again.
        if let listener { await listener.shutdown(thenEnding: drop) } else { drop() }
        await webhookSender?.shutdown()
    }

    /// The address to connect to; see ``Options/host``.
    public var host: String { options.host }

    /// The port that the server listens on, or listened on last; 0 before the first ``start()`` if ``Options/port`` is
    /// 0.
    public var port: Int { listener?.port ?? options.port }

    /// True if the server uses TLS.
    public var usesTLS: Bool { options.tls != nil }

    /// The beginning of every URL of the REST API, for example `http://127.0.0.1:40123`.
    public var httpURL: String {
        let host = self.host.contains(":") ? "[\(self.host)]" : self.host
        return "\(usesTLS ? "https" : "http")://\(host):\(port)"
    }

    /// The data that a client needs to use this server. `PusherClientOptions(testing: server.access)` of `PusherClient`
    /// makes options from it. It contains the port only after ``start()``.
    public var access: TestServerAccess {
        TestServerAccess(
            key: options.application.key,
            host: host,
            port: port,
            usesTLS: usesTLS,
            trustRoot: options.tls?.trustRoot,
            channelAuthorizationURL: "\(httpURL)/pusher/auth",
            userAuthenticationURL: "\(httpURL)/pusher/user-auth"
        )
    }

    /// Starts a server, calls `body`, and shuts the server down, also if `body` throws.
    /// - Throws: any error of ``start()`` or `body`.
    public static func withServer<Result>(
        options: Options = Options(),
        _ body: (PusherTestServer) async throws -> Result
    ) async throws -> Result {
        let server = PusherTestServer(options: options)
        try await server.start()
        do {
            let result = try await body(server)
            await server.shutdown()
            return result
        } catch {
            await server.shutdown()
            throw error
        }
    }
}
