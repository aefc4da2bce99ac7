import NIOCore
import NIOPosix
import PusherTestServer

/// An HTTP proxy, made to test that a client works behind one.
///
/// It listens on this machine only, and does what a corporate proxy does: it tunnels (`CONNECT`), forwards requests
/// whose target is a whole URL (`POST http://…`), asks for a user name and a password (``Options/credentials``),
/// resolves names by itself (``Options/hosts``), and fails on command. A request to forward ends its connection.
///
/// No test reaches the internet through it: the proxy looks at ``Options/hosts``, and answers a target that is not on
/// this machine (`127.0.0.0/8` or `::1`) with 502.
///
/// Every method may be called from any thread or task, at any time.
///
/// A fault, such as ``refuse(_:with:)``, applies to later requests: `CONNECT` and forwarded ones, authorized or not.
/// Its count says how many; the proxy answers the ones after them as usual. Nil means all until ``accept()``. A further
/// fault is appended to one whose count has not been used up, and takes the place of one without a count.
package final class TestProxy: Sendable {
    let options: Options
    let engine: ProxyEngine
    private let listener: Listener

    /// A proxy that does not listen yet; see ``start()``.
    init(options: Options = Options()) {
        let engine = ProxyEngine(options: options, eventLoop: MultiThreadedEventLoopGroup.singleton.any())
        self.options = options
        self.engine = engine
        self.listener = Listener(eventLoop: engine.eventLoop, host: options.host, port: options.port) {
            { channel in try ProxyRequestHandler.addHandlers(to: channel, engine: engine) }
        }
    }

    /// Ends a proxy that was dropped without ``shutdown()``, a little later.
    deinit { _ = beginShutdown() }

    /// Binds the port and starts to accept connections. Does nothing if the proxy listens already.
    ///
    /// A proxy that is started again after ``shutdown()`` binds the port that it had before.
    func start() async throws { try await listener.start() }

    /// Ends all connections and tunnels, as if the process were killed, and stops listening. When it returns, no socket
    /// is left.
    ///
    /// Does nothing if the proxy does not listen. Keeps records and faults.
    func shutdown() async {
        // The future never fails: a socket that has already ended counts as closed.
        try? await beginShutdown().get()
    }

    private func beginShutdown() -> EventLoopFuture<Void> {
        // The clients come first, so that no further origin is requested.
        listener.beginShutdown().flatMap { [engine] _ in engine.closeOrigins() }
    }

    /// The address to name as the proxy's.
    package var host: String { options.host }

    /// The port that the proxy listens on, or listened on last.
    package var port: Int { listener.port }

    /// Starts a proxy, calls `body`, and shuts the proxy down whether `body` returns or throws.
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
