import NIOCore
import NIOPosix
import PusherEncryption
import RealtimePrimitives
import RealtimeTestHTTP

public import struct PusherProtocol.TestServerAccess

/// A server for testing clients of the Pusher Channels protocol.
///
/// By default, the server listens on this machine only. One port serves WebSocket connections (`ws`, or `wss` with a
/// certificate), the HTTP transports, the REST API and a backend's authorization endpoints (`/pusher/auth`,
/// `/pusher/user-auth`). The server records the messages and requests that it handles, and simulates faults on demand.
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
/// You can call every method from any thread or task, at any time. Commands take effect in the order of the calls. The
/// effects happen on the server's own event loop.
public final class PusherTestServer: Sendable {
    /// The options with which the server was created. ``setActivityTimeout(_:)`` and the fault commands do not change
    /// these options.
    public let options: Options

    /// The servers of ``Options/apps``, in the same order. Each has its own connections, records and faults. Starting and
    /// shutting down this server also starts and shuts down the others.
    public let apps: [PusherTestServer]

    let engine: ServerEngine
    /// The listener; nil if clients reach the server through an ``InMemoryServer``.
    let listener: Listener?
    /// The listener with TLS, if the other one is without.
    private let tlsListener: Listener?
    /// Whether the listeners belong to another server, for which this one is a further application.
    private let isApp: Bool
    private let webhookSender: WebhookSender?

    /// Creates a server that does not listen until ``start()``.
    public convenience init(options: Options = Options()) {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.any()
        let (engine, webhooks) = Self.makeEngine(options, on: eventLoop)
        let apps = options.apps.map { app in
            var app = app
            (app.apps, app.host, app.port) = ([], options.host, options.port)
            (app.tls, app.tlsPort) = (options.tls, options.tlsPort)
            let (engine, webhooks) = Self.makeEngine(app, on: eventLoop)
            return (options: app, engine: engine, webhooks: webhooks)
        }
        let service = HTTPService(options: options, engine: engine, apps: apps.map { ($0.options, $0.engine) })
        let isPlain = options.tlsPort != nil || options.tls == nil
        let listener = Listener(service, options, port: options.port, tls: isPlain ? nil : options.tls)
        let tlsListener = options.tlsPort.flatMap { port in
            options.tls.map { Listener(service, options, port: port, tls: $0) }
        }
        self.init(
            options: options,
            engine: engine,
            listener: listener,
            tlsListener: tlsListener,
            webhooks: webhooks,
            apps: apps.map { app in
                PusherTestServer(
                    options: app.options,
                    engine: app.engine,
                    listener: listener,
                    tlsListener: tlsListener,
                    webhooks: app.webhooks,
                    isApp: true
                )
            }
        )
    }

    private static func makeEngine(
        _ options: Options,
        on eventLoop: any EventLoop
    ) -> (ServerEngine, WebhookSender?) {
        let webhooks = options.webhookURL.map { WebhookSender(url: $0, application: options.application) }
        let engine = ServerEngine(
            options: options,
            eventLoop: eventLoop,
            webhooks: webhooks,
            unixMilliseconds: { SystemTime.unixMilliseconds }
        )
        return (engine, webhooks)
    }

    init(
        options: Options,
        engine: ServerEngine,
        listener: Listener?,
        tlsListener: Listener? = nil,
        webhooks: WebhookSender? = nil,
        apps: [PusherTestServer] = [],
        isApp: Bool = false
    ) {
        self.options = options
        self.engine = engine
        self.listener = listener
        self.tlsListener = tlsListener
        self.apps = apps
        self.isApp = isApp
        self.webhookSender = webhooks
    }

    /// Shuts down a server that the app releases without ``shutdown()``. The shutdown finishes a little later.
    deinit {
        if !isApp {
            listener?.beginShutdown()
            tlsListener?.beginShutdown()
        }
        webhookSender?.beginShutdown()
    }

    /// Binds the port and starts to accept connections. Does nothing if the server already listens.
    ///
    /// If you start the server again after ``shutdown()``, it uses the same port.
    /// - Throws: ``ServerError`` if the server cannot bind the address and the port, the certificate or its key is
    ///   invalid, ``Options/encryptionMasterKey`` is invalid, two applications have the same id, key or
    ///   ``Options/socketIDPrefix``, or ``Options/tlsPort`` has no ``Options/tls``.
    public func start() async throws {
        guard SecretKey(base64: options.encryptionMasterKey) != nil else {
            throw ServerError(.invalidEncryptionKey, "Invalid encryption master key: it is not the base64 of 32 bytes.")
        }
        try checkOptions()
        // A client can connect as soon as the port is bound, and the sender drops webhooks before its start.
        webhookSender?.start()
        if isApp { return }
        do {
            for app in apps { try await app.start() }
            try await listener?.start()
            try await tlsListener?.start()
        } catch {
            await shutdown()
            throw error
        }
        // A shutdown during the start may have stopped the sender.
        webhookSender?.start()
    }

    private func checkOptions() throws {
        if options.tlsPort != nil, options.tls == nil {
            throw ServerError(
                .invalidOption,
                "Server not started: tlsPort needs a certificate. Set tls, or remove tlsPort."
            )
        }
        var names: Set<String> = []
        for application in ([options] + apps.map(\.options)).map(\.application) {
            for (kind, name) in [("id", application.id), ("key", application.key)]
            where !names.insert("\(kind) \(name)").inserted {
                // Requests name an application by its id or its key.
                throw ServerError(
                    .invalidOption,
                    "Server not started: two applications have the \(kind) \(name.quoted). Give each its own."
                )
            }
        }
        var prefixes: Set<Int> = []
        for prefix in ([options] + apps.map(\.options)).compactMap(\.socketIDPrefix)
        where !prefixes.insert(prefix).inserted {
            // The authorization endpoint finds the application by the socket id.
            throw ServerError(
                .invalidOption,
                "Server not started: two applications have the socketIDPrefix \(prefix). Give each its own."
            )
        }
    }

    /// Stops listening, and closes all connections as if the process were killed. When the method returns, no socket is
    /// open.
    ///
    /// If the server does not listen, the method only removes simulated members. The server keeps its records.
    public func shutdown() async {
        let drop = { @Sendable [engine] in
            engine.step { brain in brain.dropConnections(.all) }
            engine.step { brain in brain.removeFakeMembers() }
        }
        // Stop listening first, so that a client cannot reconnect at once.
        if isApp {
            drop()
        } else {
            await tlsListener?.shutdown()
            if let listener { await listener.shutdown(thenEnding: drop) } else { drop() }
            for app in apps { await app.shutdown() }
        }
        await webhookSender?.shutdown()
    }

    /// The key of the app that the server serves: that of ``Options/application``.
    public var key: String { options.application.key }

    /// The address to which clients connect; see ``Options/host``.
    public var host: String { options.host }

    /// The port on which the server listens, or listened last. The value is 0 before the first ``start()`` if
    /// ``Options/port`` is 0.
    public var port: Int { listener?.port ?? options.port }

    /// The port for TLS, if the server serves without TLS on ``port``; nil without such a port. See
    /// ``Options/tlsPort``.
    public var tlsPort: Int? { tlsListener?.port }

    /// Whether the server uses TLS on ``port``.
    public var usesTLS: Bool { options.tls != nil && tlsListener == nil }

    /// The beginning of every URL of the REST API, for example `http://127.0.0.1:40123`.
    public var url: String { url(usesTLS: usesTLS, port: port) }

    private func url(usesTLS: Bool, port: Int) -> String {
        let host = self.host.contains(":") ? "[\(self.host)]" : self.host
        return "\(usesTLS ? "https" : "http")://\(host):\(port)"
    }

    /// The data that a client or a backend needs to use this server. `PusherClientOptions(testing: server.access)` of
    /// `PusherClient` makes options from this data, and `PusherServerAPI(testing: server.access)` of `PusherServerAPI`
    /// an API. If ``Options/port`` is 0, the data contains the port only after ``start()``.
    public var access: TestServerAccess { access(usesTLS: usesTLS, port: port) }

    /// The same as ``access`` for ``tlsPort``; nil without such a port.
    public var tlsAccess: TestServerAccess? { tlsPort.map { access(usesTLS: true, port: $0) } }

    private func access(usesTLS: Bool, port: Int) -> TestServerAccess {
        let url = url(usesTLS: usesTLS, port: port)
        return TestServerAccess(
            appID: options.application.id,
            key: options.application.key,
            host: host,
            port: port,
            usesTLS: usesTLS,
            trustRoot: options.tls?.trustRoot,
            secret: options.application.secret,
            encryptionMasterKey: options.encryptionMasterKey,
            channelAuthorizationURL: "\(url)/pusher/auth",
            userAuthenticationURL: "\(url)/pusher/user-auth"
        )
    }

    /// Starts a server, calls `body`, and shuts the server down whether `body` returns or throws.
    /// - Throws: The error that ``start()`` or `body` throws.
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
