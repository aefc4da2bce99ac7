import NIOConcurrencyHelpers
package import NIOCore
import NIOPosix
import NIOSSL

/// Binds the port and gives each TCP connection its handlers. All connections run on one event loop.
package final class Listener: Sendable {
    private let eventLoop: any EventLoop
    private let host: String
    private let makePreparation: @Sendable () throws -> Preparation
    private let state: NIOLockedValueBox<State>

    /// Adds a connection's handlers.
    package typealias Preparation = @Sendable (any Channel) throws -> Void

    private struct State {
        var port: Int
        /// The outcome of the latest start or shutdown: the channel that listens. It never fails. Never fails.
        var current: EventLoopFuture<(any Channel)?>
        var children: [ObjectIdentifier: any Channel] = [:]
    }

    /// - Parameter makePreparation: is called by each start. If it throws, the start fails with its error.
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

    /// - Parameter end: Called when the port is closed, before the connections are ended.
    func shutdown(thenEnding end: @escaping @Sendable () -> Void) async {
        // The future never fails, because a socket that has ended already needs no closing.
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

    /// Runs starts and shutdowns in the order of the calls, each after the one before has finished.
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
            return { channel in
                let pipeline = channel.pipeline.syncOperations
                if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
                try HTTPRequestHandler.addHandlers(to: pipeline, options: options, engine: engine)
            }
        }
    }
}

extension Channel {
    /// Ends TCP below TLS, which would wait for its peer. On the event loop only.
    func endTransport() {
        if let context = try? pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) {
            context.close(promise: nil)
        } else {
            close(promise: nil)
        }
    }

    /// Ends TCP after everything was sent, or after a second. On the event loop only.
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
                "Server not started: the certificate chain or its private key cannot be used.",
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
