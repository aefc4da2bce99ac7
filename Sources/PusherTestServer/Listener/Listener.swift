import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSSL

/// Binds the port and gives each TCP connection its handlers. All connections run on the engine's event loop.
final class Listener: Sendable {
    private let options: PusherTestServer.Options
    private let engine: ServerEngine
    private let state: NIOLockedValueBox<State>

    private struct State {
        var port: Int
        /// The outcome of the newest start or shutdown: the channel that listens. Never fails.
        var current: EventLoopFuture<(any Channel)?>
        var children: [ObjectIdentifier: any Channel] = [:]
    }

    init(options: PusherTestServer.Options, engine: ServerEngine) {
        self.options = options
        self.engine = engine
        let current = engine.eventLoop.makeSucceededFuture((any Channel)?.none)
        self.state = NIOLockedValueBox(State(port: options.port, current: current))
    }

    var port: Int { state.withLockedValue { $0.port } }

    func start() async throws {
        _ = try await transition { channel in
            guard let channel else { return self.bind() }
            return self.engine.eventLoop.makeSucceededFuture(channel)
        }.get()
    }

    func shutdown() async {
        // The future never fails: closing a socket that has ended already is what was wanted.
        _ = try? await beginShutdown().get()
    }

    @discardableResult
    func beginShutdown() -> EventLoopFuture<(any Channel)?> {
        transition { channel in
            guard let channel else { return self.engine.eventLoop.makeSucceededFuture(nil) }
            return self.close(channel).map { nil }
        }
    }

    /// Starts and shutdowns follow each other in the order of the calls, each after the one before has finished.
    private func transition(
        _ change: @escaping @Sendable ((any Channel)?) -> EventLoopFuture<(any Channel)?>
    ) -> EventLoopFuture<(any Channel)?> {
        let finished = engine.eventLoop.makePromise(of: (any Channel)?.self)
        let previous = state.withLockedValue { state in
            defer { state.current = finished.futureResult }
            return state.current
        }
        let result = previous.flatMap(change)
        result.recover { _ in nil }.cascade(to: finished)
        return result
    }

    private func bind() -> EventLoopFuture<(any Channel)?> {
        let tls: NIOSSLContext?
        do {
            tls = try options.tls.map { try NIOSSLContext(configuration: try $0.serverConfiguration()) }
        } catch {
            let wrapped = PusherTestServer.ServerError(
                .invalidCertificate,
                "the certificate chain or its private key cannot be used",
                cause: error
            )
            return engine.eventLoop.makeFailedFuture(wrapped)
        }
        let address = (host: options.host, port: port)
        return ServerBootstrap(group: engine.eventLoop)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in self.prepare(channel, tls) }
            .bind(host: address.host, port: address.port)
            .map { channel in
                self.state.withLockedValue { $0.port = channel.localAddress?.port ?? $0.port }
                return channel
            }
            .flatMapErrorThrowing { error in
                throw PusherTestServer.ServerError(
                    .bindFailed,
                    "cannot listen on \(address.host), port \(address.port)",
                    cause: error
                )
            }
    }

    private func prepare(_ channel: any Channel, _ tls: NIOSSLContext?) -> EventLoopFuture<Void> {
        let id = ObjectIdentifier(channel)
        state.withLockedValue { $0.children[id] = channel }
        channel.closeFuture.whenComplete { _ in self.state.withLockedValue { $0.children[id] = nil } }
        return channel.eventLoop.makeCompletedFuture {
            if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
            try channel.pipeline.syncOperations.addHandlers(
                ByteToMessageHandler(HTTPRequestHandler.makeDecoder()),
                HTTPRequestHandler(options: self.options, engine: self.engine)
            )
        }
    }

    private func close(_ channel: any Channel) -> EventLoopFuture<Void> {
        channel.close().recover { _ in }.flatMap {
            let children = self.state.withLockedValue { Array($0.children.values) }
            for child in children { child.endTransport() }
            let ends = children.map { $0.closeFuture.recover { _ in } }
            return EventLoopFuture.andAllComplete(ends, on: self.engine.eventLoop)
        }
    }
}

extension Channel {
    /// Ends TCP beneath TLS, which would wait for its peer. On the event loop only.
    func endTransport() {
        if let context = try? pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) {
            context.close(promise: nil)
        } else {
            close(promise: nil)
        }
    }
}

extension PusherTestServer.TLS {
    fileprivate func serverConfiguration() throws -> TLSConfiguration {
        let certificates = try NIOSSLCertificate.fromPEMBytes(Array(certificateChain.utf8))
        let key = try NIOSSLPrivateKey(bytes: Array(privateKey.utf8), format: .pem)
        return .makeServerConfiguration(
            certificateChain: certificates.map { .certificate($0) },
            privateKey: .privateKey(key)
        )
    }
}
