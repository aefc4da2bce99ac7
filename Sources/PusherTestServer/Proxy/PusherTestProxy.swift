import NIOCore
import NIOPosix

/// An HTTP proxy, made to test that a client works behind one.
///
/// It listens on this machine only, and does what a corporate proxy does: it tunnels (`CONNECT`), forwards requests
/// whose target is a whole URL (`POST http://…`), asks for a user name and a password (``Options/credentials``),
/// resolves names by itself (``Options/hosts``), and fails on command.
///
/// ```swift
/// try await PusherTestServer.withServer { server in
///     var options = PusherTestProxy.Options()
///     options.hosts["ws.example.test"] = server.host
///     try await PusherTestProxy.withProxy(options: options) { proxy in
///         let app = MyApp(host: "ws.example.test", port: server.port, proxyHost: proxy.host, proxyPort: proxy.port)
///         try await server.waitForConnections()
///         #expect(proxy.requests.map(\.host) == ["ws.example.test"])
///         proxy.dropTunnels()
///         try await server.nextRecord { $0.event == .connectionEnded }
///         try await server.waitForConnections()
///     }
/// }
/// ```
///
/// No test reaches the internet through it: a target that is not on this machine (`127.0.0.0/8` or `::1`), after
/// ``Options/hosts`` was looked at, is answered with 502, and so is a name that does not stand there.
///
/// Every method may be called from any thread or task, at any time.
///
/// A fault, such as ``refuse(_:with:)``, befalls the requests that come after it: `CONNECT` and forwarded ones,
/// authorized or not. Its count says how many; the ones after them are answered as usual. Nil, the default, means all
/// until ``accept()``. A further fault is appended to one whose count has not been used up, and takes the place of one
/// without.
public final class PusherTestProxy: Sendable {
    /// What the proxy was made with.
    public let options: Options

    let engine: ProxyEngine
    private let listener: Listener

    /// Makes a proxy that does not listen yet; see ``start()``.
    public init(options: Options = Options()) {
        let engine = ProxyEngine(options: options, eventLoop: MultiThreadedEventLoopGroup.singleton.any())
        self.options = options
        self.engine = engine
        self.listener = Listener(eventLoop: engine.eventLoop, host: options.host, port: options.port) {
            { channel in try ProxyRequestHandler.addHandlers(to: channel, engine: engine) }
        }
    }

    /// A proxy that was dropped without ``shutdown()`` ends by itself, a little later.
    deinit { _ = beginShutdown() }

    /// Binds the port and starts to accept connections. Does nothing where the proxy listens already.
    ///
    /// A proxy that is started again after ``shutdown()`` binds the port that it had before.
    /// - Throws: ``PusherTestServer/PusherTestServer/ServerError`` with
    ///   ``PusherTestServer/PusherTestServer/ServerError/Code/bindFailed``.
    public func start() async throws { try await listener.start() }

    /// Ends all connections and tunnels, as if the process were killed, and stops listening. When it returns, no socket
    /// is left.
    ///
    /// Does nothing where the proxy does not listen. Records and faults are kept.
    public func shutdown() async {
        // The future never fails: closing a socket that has ended already is what was wanted.
        try? await beginShutdown().get()
    }

    private func beginShutdown() -> EventLoopFuture<Void> {
        // The clients first: after that nobody asks for another origin.
        listener.beginShutdown().flatMap { [engine] _ in engine.closeOrigins() }
    }

    /// The address to name as the proxy's; see ``Options/host``.
    public var host: String { options.host }

    /// The port that the proxy listens on, or listened on last; 0 before the first ``start()`` where
    /// ``Options/port`` is 0.
    public var port: Int { listener.port }

    /// Starts a proxy, calls `body`, and shuts the proxy down whether `body` returns or throws.
    /// - Throws: what ``start()`` or `body` throws.
    public static func withProxy<Result>(
        options: Options = Options(),
        _ body: (PusherTestProxy) async throws -> Result
    ) async throws -> Result {
        let proxy = PusherTestProxy(options: options)
        try await proxy.start()
        do {
            let result = try await body(proxy)
            await proxy.shutdown()
            return result
        } catch {
            await proxy.shutdown()
            throw error
        }
    }
}
