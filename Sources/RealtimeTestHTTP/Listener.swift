import NIOConcurrencyHelpers
package import NIOCore
import NIOPosix
package import NIOSSL

/// A listener that binds the port and adds the handlers of each TCP connection.
package final class Listener: Sendable {
    private let eventLoop: any EventLoop
    private let connectionGroup: any EventLoopGroup
    private let host: String
    private let bindFailure: BindFailure
    private let makePreparation: @Sendable () throws -> Preparation
    private let state: NIOLockedValueBox<State>

    /// A closure that adds a connection's handlers.
    package typealias Preparation = @Sendable (any Channel) throws -> Void

    /// A closure that makes the error of a start whose port is in use.
    package typealias BindFailure = @Sendable (_ host: String, _ port: Int, _ cause: any Error) -> any Error

    private struct State {
        var port: Int
        /// The listening channel after the latest start or shutdown; nil if the server does not listen. The future
        /// never fails.
        var current: EventLoopFuture<(any Channel)?>
        var children: [ObjectIdentifier: any Channel] = [:]
    }

    /// - Parameters:
    ///   - connectionGroup: The event loops of the connections; nil, the default, for the listener's own.
    ///   - bindFailure: A closure that makes the error of a start whose port is in use.
    ///   - makePreparation: A closure that each start calls. If the closure throws, the start fails with the same error.
    package init(
        eventLoop: any EventLoop,
        connectionGroup: (any EventLoopGroup)? = nil,
        host: String,
        port: Int,
        bindFailure: @escaping BindFailure,
        makePreparation: @escaping @Sendable () throws -> Preparation
    ) {
        self.eventLoop = eventLoop
        self.connectionGroup = connectionGroup ?? eventLoop
        self.host = host
        self.bindFailure = bindFailure
        self.makePreparation = makePreparation
        let current = eventLoop.makeSucceededFuture((any Channel)?.none)
        self.state = NIOLockedValueBox(State(port: port, current: current))
    }

    package var channels: [any Channel] { state.withLockedValue { Array($0.children.values) } }

    package var port: Int { state.withLockedValue { $0.port } }

    package func start() async throws {
        _ = try await transition { channel in
            guard let channel else { return self.bind() }
            return self.eventLoop.makeSucceededFuture(channel)
        }.get()
    }

    /// - Parameter end: A closure that runs after the port is closed and before the connections are closed.
    package func shutdown(thenEnding end: @escaping @Sendable () -> Void = {}) async {
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
        return ServerBootstrap(group: eventLoop, childGroup: connectionGroup)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.backlog, value: 1_024)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in self.register(channel, prepare) }
            .bind(host: address.host, port: address.port)
            .map { channel in
                self.state.withLockedValue { $0.port = channel.localAddress?.port ?? $0.port }
                return channel
            }
            .flatMapErrorThrowing { error in
                throw self.bindFailure(address.host, address.port, error)
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
            for child in children { child.eventLoop.execute { child.endTransport() } }
            let ends = children.map { $0.closeFuture.recover { _ in } }
            return EventLoopFuture.andAllComplete(ends, on: self.eventLoop)
        }
    }
}

extension Channel {
    /// Closes the TCP connection without a TLS shutdown, which would wait for the peer. Call this on the event loop
    /// only.
    package func endTransport() {
        if let context = try? pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) {
            context.close(promise: nil)
        } else {
            close(promise: nil)
        }
    }

    /// Sends all output, and then closes the TCP connection. Waits at most a second. Call this on the event loop only.
    package func endTransportAfterFlush() {
        let timer = eventLoop.scheduleTask(in: .seconds(1)) { self.endTransport() }
        writeAndFlush(ByteBuffer()).whenComplete { _ in
            timer.cancel()
            self.endTransport()
        }
    }
}

/// A certificate chain and its private key, in PEM form.
package struct HTTPTestCertificate: Sendable {
    private let chain: String
    private let privateKey: String

    package init(chain: String, privateKey: String) {
        self.chain = chain
        self.privateKey = privateKey
    }

    /// Reads the certificates and the key.
    package func context() throws -> NIOSSLContext {
        let certificates = try NIOSSLCertificate.fromPEMBytes(Array(chain.utf8))
        let key = try NIOSSLPrivateKey(bytes: Array(privateKey.utf8), format: .pem)
        let configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: certificates.map { .certificate($0) },
            privateKey: .privateKey(key)
        )
        return try NIOSSLContext(configuration: configuration)
    }
}
