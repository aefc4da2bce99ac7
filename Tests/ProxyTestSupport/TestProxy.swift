import NIOCore
import NIOPosix
import PusherTestServer
import RealtimeTestHTTP

/// An HTTP proxy for tests of clients behind proxies.
///
/// The proxy listens on this machine only, and behaves like a corporate proxy. It opens tunnels (`CONNECT`), and
/// forwards requests whose target is a whole URL (`POST http://…`). If ``Options/credentials`` is set, it requires a
/// user name and a password. It resolves the names in ``Options/hosts``, and simulates faults. After a forwarded
/// request, the proxy closes the connection.
///
/// No test reaches the internet through the proxy. The proxy resolves only the names in ``Options/hosts``. If the
/// target is not on this machine (`127.0.0.0/8` or `::1`), the proxy answers with 502.
///
/// You can call every method from any thread or task, at any time.
///
/// A fault, such as ``refuse(_:with:)``, applies to later requests: tunnels and forwarded requests, authorized or not.
/// The count is the number of requests with the fault. Without a count, the fault applies until ``accept()``. A further
/// fault begins after an earlier fault with a count, but replaces an earlier fault without a count.
package final class TestProxy: Sendable {
    let options: Options
    let engine: ProxyEngine
    private let listener: Listener

    /// Creates a proxy that does not listen yet. See ``start()``.
    init(options: Options = Options()) {
        let engine = ProxyEngine(options: options, eventLoop: MultiThreadedEventLoopGroup.singleton.any())
        self.options = options
        self.engine = engine
        self.listener = Listener(eventLoop: engine.eventLoop, host: options.host, port: options.port) {
            { channel in try ProxyRequestHandler.addHandlers(to: channel, engine: engine) }
        }
    }

    /// Shuts down a proxy that was released without ``shutdown()``.
    deinit { _ = beginShutdown() }

    /// Binds the port and starts to accept connections. Does nothing if the proxy listens already.
    ///
    /// After ``shutdown()``, the proxy binds its previous port again.
    func start() async throws { try await listener.start() }

    /// Stops listening, and closes all connections and tunnels as if the process were killed. When the method returns,
    /// all sockets are closed.
    ///
    /// Does nothing if the proxy does not listen. Keeps records and faults.
    func shutdown() async {
        // The future never fails, because closing a socket that is already closed succeeds.
        try? await beginShutdown().get()
    }

    private func beginShutdown() -> EventLoopFuture<Void> {
        // The proxy closes the clients' connections first, so the clients cannot request further origins.
        listener.beginShutdown().flatMap { [engine] _ in engine.closeOrigins() }
    }

    /// The address under which clients reach the proxy.
    package var host: String { options.host }

    /// The port that the proxy listens on, or listened on last.
    package var port: Int { listener.port }

    /// Starts a proxy, calls `body`, and shuts the proxy down even if `body` throws.
    package static func withProxy<Result>(
        options: Options = Options(),
        _ body: (TestProxy) async throws -> Result
    ) async throws -> Result {
        let proxy = TestProxy(options: options)
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
