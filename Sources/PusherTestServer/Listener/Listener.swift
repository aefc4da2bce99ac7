import NIOConcurrencyHelpers
package import NIOCore
import NIOPosix
import NIOSSL

/// A listener that binds the port and adds the handlers of each TCP connection. All connections run on one event loop.
package final class Listener: Sendable {
    private let eventLoop: any EventLoop
    private let host: String
    private let makePreparation: @Sendable () throws -> Preparation
    private let state: NIOLockedValueBox<State>

    /// A closure that adds a connection's handlers.
    package typealias Preparation = @Sendable (any Channel) throws -> Void

    private struct State {
        var port: Int
        /// The listening channel after the latest start or shutdown; nil if the server does not listen. The future
        /// never fails.
        var current: EventLoopFuture<(any Channel)?>
        var children: [ObjectIdentifier: any Channel] = [:]
    }

    /// - Parameter makePreparation: A closure that each start calls. If the closure throws, the start fails with the
    ///   same error.
    package init(
        eventLoop: any EventLoop,
        host: String,
        port: Int,
        makePreparation: @escaping @Sendable () throws -> Preparation
    ) {
        self.eventLoop = eventLoop
        self.host = host
        self.makePreparation = makePreparation
        let current = eventLoop.makeSucceededFuture((any Channel)?.none)
        self.state = NIOLockedValueBox(State(port: port, current: current))
    }

    package var port: Int { state.withLockedValue { $0.port } }

    package func start() async throws {
        _ = try await transition { channel in
            guard let channel else { return self.bind() }
            return self.eventLoop.makeSucceededFuture(channel)
        }.get()
    }

    /// - Parameter end: A closure that runs after the port is closed and before the connections are closed.
    func shutdown(thenEnding end: @escaping @Sendable () -> Void) async {
        // The future never fails, because `close` ignores errors of sockets that are already closed.
        _ = try? await beginShutdown(thenEnding: end).get()
    }

    @discardableResult
    package func beginShutdown(thenEnding end: @escaping @Sendable () -> Void = {}) -> EventLoopFuture<(any Channel)?> {
        transition { channel in
            guard let channel else {
                end()
                return self.eventLoop.makeSucceededFuture(nil)
            }
            return self.close(channel, thenEnding: end).map { nil }
        }
    }

    /// Runs starts and shutdowns in the order of the calls. Each start or shutdown waits until the previous call has
    /// finished.
    private func transition(
        _ change: @escaping @Sendable ((any Channel)?) -> EventLoopFuture<(any Channel)?>
    ) -> EventLoopFuture<(any Channel)?> {
        let finished = eventLoop.makePromise(of: (any Channel)?.self)
        let previous = state.withLockedValue { state in
            defer { state.current = finished.futureResult }
            return state.current
        }
        let result = previous.flatMap(change)
        result.recover { _ in nil }.cascade(to: finished)
        return result
    }

    private func bind() -> EventLoopFuture<(any Channel)?> {
        let prepare: Preparation
        do {
            prepare = try makePreparation()
        } catch {
            return eventLoop.makeFailedFuture(error)
        }
        let address = (host: host, port: port)
        return ServerBootstrap(group: eventLoop)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in self.register(channel, prepare) }
            .bind(host: address.host, port: address.port)
            .map { channel in
                self.state.withLockedValue { $0.port = channel.localAddress?.port ?? $0.port }
                return channel
            }
            .flatMapErrorThrowing { error in
                throw PusherTestServer.ServerError(
                    .bindFailed,
                    "Server not started: it cannot listen on \(address.host), port \(address.port). Choose another port, or 0 for any.",
                    cause: error
                )
            }
    }

    private func register(_ channel: any Channel, _ prepare: @escaping Preparation) -> EventLoopFuture<Void> {
        let id = ObjectIdentifier(channel)
        state.withLockedValue { $0.children[id] = channel }
        channel.closeFuture.whenComplete { _ in self.state.withLockedValue { $0.children[id] = nil } }
        return channel.eventLoop.makeCompletedFuture { try prepare(channel) }
    }

    private func close(_ channel: any Channel, thenEnding end: @escaping @Sendable () -> Void) -> EventLoopFuture<Void>
    {
        channel.close().recover { _ in }.flatMap {
            end()
            let children = self.state.withLockedValue { Array($0.children.values) }
            for child in children { child.endTransport() }
            let ends = children.map { $0.closeFuture.recover { _ in } }
            return EventLoopFuture.andAllComplete(ends, on: self.eventLoop)
        }
    }
}

extension Listener {
    convenience init(options: PusherTestServer.Options, engine: ServerEngine) {
        self.init(eventLoop: engine.eventLoop, host: options.host, port: options.port) {
            let tls = try options.tls.map { try $0.serverContext() }
            let hostRule =
                HostRule.isLoopback(options.host)
                ? HostRule(boundTo: options.host, allowed: options.allowedHosts) : nil
            return { channel in
                let pipeline = channel.pipeline.syncOperations
                if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
                try HTTPRequestHandler.addHandlers(
                    to: pipeline,
                    options: options,
                    engine: engine,
                    hostRule: hostRule
                )
            }
        }
    }
}

extension Channel {
    /// Closes the TCP connection without a TLS shutdown, which would wait for the peer. Call this on the event loop
    /// only.
    func endTransport() {
        if let context = try? pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) {
            context.close(promise: nil)
        } else {
            close(promise: nil)
        }
    }

    /// Sends all output, and then closes the TCP connection. Waits at most a second. Call this on the event loop only.
    func endTransportAfterFlush() {
        let timer = eventLoop.scheduleTask(in: .seconds(1)) { self.endTransport() }
        writeAndFlush(ByteBuffer()).whenComplete { _ in
            timer.cancel()
            self.endTransport()
        }
    }
}

extension PusherTestServer.TLS {
    fileprivate func serverContext() throws -> NIOSSLContext {
        do {
            return try NIOSSLContext(configuration: serverConfiguration())
        } catch {
            throw PusherTestServer.ServerError(
                .invalidCertificate,
                """
                Server not started: the certificate chain or its private key cannot be used. Pass both in PEM form, and \
                the key of the first certificate.
                """,
                cause: error
            )
        }
    }

    private func serverConfiguration() throws -> TLSConfiguration {
        let certificates = try NIOSSLCertificate.fromPEMBytes(Array(certificateChain.utf8))
        let key = try NIOSSLPrivateKey(bytes: Array(privateKey.utf8), format: .pem)
        return .makeServerConfiguration(
            certificateChain: certificates.map { .certificate($0) },
            privateKey: .privateKey(key)
        )
    }
}
