package import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

/// One attempt to make a connection, on one event loop. The attempt has no time limit.
///
/// The attempt adds itself to the pipeline of the channel that it makes, and removes itself when the connection is
/// ready.
package final class Dial {
    private enum Stage {
        /// The attempt creates the TLS context, looks up the host, or opens the TCP connection.
        case connecting
        /// The proxy is connecting to the server.
        case tunneling
        /// The TLS handshake is in progress.
        case securing
        case ended
    }

    package let target: Dialer.Target
    /// The proxy that the connection goes through; nil without a proxy.
    package let proxy: ProxyServer?
    private let dialer: Dialer
    private let eventLoop: any EventLoop
    private let initialReadSize: Int
    private var completion: ((Result<any Channel, DialFailure>) -> Void)?

    private var stage = Stage.connecting
    /// The current lookup; nil before and after the lookup.
    private var lookup: (any Resolver)?
    /// The channels that can become the connection. A host with several addresses can have several channels.
    private var candidates: [any Channel] = []
    private var context: ChannelHandlerContext?
    private var tls: NIOSSLContext?
    /// The status of the proxy's answer, if there is one.
    private var proxyStatus: Int?
    /// The first error that NIO reported before the channel closed; nil if there was none.
    private var failure: (any Error)?

    /// Creates an attempt. Call ``start()`` to begin it.
    ///
    /// - Parameters:
    ///   - initialReadSize: The size of the first reads from the socket, in bytes. Later sizes depend on how much data
    ///     arrives at once. Default: small, to save memory.
    ///   - completion: A closure that gets the connected channel or the failure. The closure has to add the handlers of
    ///     the protocol before it returns. The attempt may call it within ``start()``, but not after ``cancel()``.
    /// - Throws: The errors of ``Dialer/proxy(for:)``.
    package init(
        _ target: Dialer.Target,
        _ dialer: Dialer,
        on eventLoop: any EventLoop,
        initialReadSize: Int = 512,
        completion: @escaping (Result<any Channel, DialFailure>) -> Void
    ) throws(NetworkError) {
        self.target = target
        self.proxy = try dialer.proxy(for: target)
        self.dialer = dialer
        self.eventLoop = eventLoop
        self.initialReadSize = initialReadSize
        self.completion = completion
    }

    package func start() {
        guard target.useTLS else { return connect() }
        dialer.tlsContexts.context(on: eventLoop).assumeIsolated().whenComplete { result in
            switch result {
            case .success(let tls):
                self.tls = tls
                self.connect()
            case .failure(let error): self.fail(.noTLS(self.target, error))
            }
        }
    }

    /// Ends the attempt at once. Later calls have no effect.
    package func cancel() {
        stage = .ended
        completion = nil
        lookup?.cancelQueries()
        lookup = nil
        for channel in candidates { channel.closeAtOnce() }
    }

    private func fail(_ failure: DialFailure) {
        let completion = completion
        cancel()
        completion?(.failure(failure))
    }

    // MARK: TCP

    private func connect() {
        guard case .connecting = stage else { return }
        guard let bootstrap = ClientBootstrap(validatingGroup: eventLoop) else { return fail(.noSockets) }
        guard (1...65_535).contains(target.port) else { return fail(.invalidPort(target)) }
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        makeConnection(
            bootstrap
                // The attempt needs no timeout of its own, because the caller limits the time.
                .connectTimeout(.hours(24))
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                // A connection keeps its last buffers, which never shrink. The buffers are small at first, and grow
                // only if much data arrives at once. This saves memory.
                .channelOption(
                    .recvAllocator,
                    value: AdaptiveRecvByteBufferAllocator(minimum: 512, initial: initialReadSize, maximum: 65_536)
                )
                .channelInitializer { channel in bound.value.adopt(channel) }
        ).assumeIsolated().whenComplete { result in
            self.lookup = nil
            switch result {
            case .success(let channel): self.connected(channel)
            case .failure(let error): self.fail(.notConnected(to: self.target, through: self.proxy, error))
            }
        }
    }

    private func makeConnection(_ bootstrap: ClientBootstrap) -> EventLoopFuture<any Channel> {
        let (host, port) = (proxy?.host ?? target.host, proxy?.port ?? target.port)
        guard let address = try? SocketAddress(ipAddress: host, port: port) else {
            let lookup = dialer.resolver ?? HostLookup(eventLoop: eventLoop)
            self.lookup = lookup
            return bootstrap.resolver(lookup).connect(host: host, port: port)
        }
        return bootstrap.connect(to: address)
    }

    /// Stores a channel before it connects, so ``cancel()`` can close the channel.
    private func adopt(_ channel: any Channel) -> EventLoopFuture<Void> {
        guard case .connecting = stage else { return eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel) }
        dialer.observe?(channel)
        candidates.append(channel)
        channel.closeFuture.assumeIsolated().whenComplete { [weak self] _ in
            self?.candidates.removeAll { $0 === channel }
        }
        return eventLoop.makeSucceededVoidFuture()
    }

    private func connected(_ channel: any Channel) {
        guard case .connecting = stage else { return channel.close(promise: nil) }
        guard channel.isActive else {
            return fail(.notConnected(to: target, through: proxy, ChannelError.ioOnClosedChannel))
        }
        do {
            try channel.pipeline.syncOperations.addHandler(self)
            guard let proxy else { return secure(channel) }
            stage = .tunneling
            try tunnel(channel, through: proxy)
        } catch {
            fail(.notConnected(to: target, through: proxy, error))
        }
    }

    // MARK: The tunnel

    /// Asks a proxy to connect to the server (RFC 9110, section 9.3.6). Until the proxy has answered, this handler gets
    /// no data, only the event that the channel has closed.
    private func tunnel(_ channel: any Channel, through proxy: ProxyServer) throws {
        let tunnel = ProxyTunnel(to: target.hostAndPort, through: proxy) { [weak self] answer in
            guard let self, case .tunneling = self.stage else { return }
            switch answer {
            case .status(let status):
                self.proxyStatus = status
                if !(200..<300).contains(status) { self.tunnelingFailed(nil) }
            case .opened(.success): self.secure(channel)
            case .opened(.failure(let error)): self.tunnelingFailed(error)
            }
        }
        try tunnel.add(to: channel, before: self)
    }

    private func tunnelingFailed(_ error: (any Error)?) {
        guard let proxy else { return }
        fail(.noTunnel(to: target, through: proxy, status: proxyStatus, error))
    }

    // MARK: TLS

    private func secure(_ channel: any Channel) {
        guard let tls else { return complete(channel) }
        stage = .securing
        do {
            // The TLS handler begins the handshake when it is added, and can fire an error at once. So the code adds
            // this handler first, and then adds the TLS handler at the front of the pipeline.
            let handler = try NIOSSLClientHandler(context: tls, serverHostname: target.serverNameForTLS)
            try channel.pipeline.syncOperations.addHandler(handler, position: .first)
        } catch {
            securingFailed(error)
        }
    }

    /// Checks the host name and the pins after the TLS handshake.
    private func secured() {
        guard let channel = context?.channel else { return }
        let options = dialer.tlsContexts.options
        if case .full = options.certificateVerification, let name = target.serverNameForTLS,
            let failure = TLSFailure.mismatch(of: channel.peerCertificate, host: name)
        {
            return fail(.tls(target, failure))
        }
        switch options.checkPins(of: channel.peerCertificate) {
        case .match: complete(channel)
        case .mismatch(let pin): fail(.pinMismatch(target, shown: pin))
        }
    }

    private func securingFailed(_ error: (any Error)?) {
        fail(
            .tls(
                target,
                .handshake(
                    error,
                    host: target.host,
                    certificate: context?.channel.peerCertificate,
                    trustRoots: dialer.tlsContexts.options.trustRoots
                )
            )
        )
    }

    private func complete(_ channel: any Channel) {
        let completion = completion
        self.completion = nil
        stage = .ended
        candidates = []
        completion?(.success(channel))
        if let context { channel.pipeline.syncOperations.removeHandler(context: context, promise: nil) }
    }
}

extension Dial: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = ByteBuffer

    package func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    package func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .securing = stage, case .handshakeCompleted? = event as? TLSUserEvent { return secured() }
        context.fireUserInboundEventTriggered(event)
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if failure == nil { failure = error }
        switch stage {
        case .securing: securingFailed(error)
        case .connecting, .tunneling: context.channel.closeAtOnce()
        case .ended: context.fireErrorCaught(error)
        }
    }

    package func channelInactive(context: ChannelHandlerContext) {
        switch stage {
        case .connecting: fail(.notConnected(to: target, through: proxy, failure ?? ChannelError.ioOnClosedChannel))
        case .tunneling: tunnelingFailed(failure)
        case .securing: securingFailed(failure)
        case .ended: break
        }
        context.fireChannelInactive()
    }
}

extension Channel {
    /// The context of the TLS handler; nil without TLS.
    var tlsContext: ChannelHandlerContext? {
        try? pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
    }

    fileprivate var peerCertificate: NIOSSLCertificate? {
        (tlsContext?.handler as? NIOSSLClientHandler)?.peerCertificate
    }
}
