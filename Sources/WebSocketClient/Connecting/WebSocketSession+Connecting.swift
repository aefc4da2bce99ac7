import NIOCore
import NIOPosix
import NIOSSL
import RealtimeNetworking

extension WebSocketSession {
    func start() {
        guard case .connecting = stage else { return }
        do {
            upgrade = UpgradeResponseReader(try UpgradeRequest(request))
            proxy = try connector.proxy(for: request)
        } catch {
            return end(WebSocketClosure(code: nil, error: error))
        }
        guard request.useTLS else { return connect(tls: nil) }
        connector.tlsContexts.context(on: eventLoop).assumeIsolated().whenComplete { result in
            switch result {
            case .success(let tls): self.connect(tls: tls)
            case .failure(let error):
                self.end(WebSocketClosure(code: nil, error: ConnectionFailure.preparing(self.request, error)))
            }
        }
    }

    /// Begins the session with a connected channel.
    func start(over channel: any Channel) {
        guard case .connecting = stage else { return channel.close(promise: nil) }
        do {
            upgrade = UpgradeResponseReader(try UpgradeRequest(request))
        } catch {
            channel.close(promise: nil)
            return end(WebSocketClosure(code: nil, error: error))
        }
        _ = adopt(channel)
        connected(channel, tls: nil)
    }

    private func connect(tls: NIOSSLContext?) {
        guard case .connecting = stage else { return }
        guard let bootstrap = ClientBootstrap(validatingGroup: eventLoop) else {
            let error = WebSocketError(
                .connectionFailed,
                "Connection failed: the event loop group cannot open sockets. Use the default group."
            )
            return end(WebSocketClosure(code: nil, error: error))
        }
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        makeConnection(
            bootstrap
                // The session needs no timeout of its own, because the caller limits the time of the whole attempt.
                .connectTimeout(.hours(24))
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                // A connection keeps its last buffers, which never shrink. The buffers are small at first, and grow
                // only if much data arrives at once. This saves memory.
                .channelOption(
                    .recvAllocator,
                    value: AdaptiveRecvByteBufferAllocator(minimum: 512, initial: 512, maximum: 65_536)
                )
                .channelInitializer { channel in bound.value.adopt(channel) }
        ).assumeIsolated().whenComplete { result in
            switch result {
            case .success(let channel): self.connected(channel, tls: tls)
            case .failure(let error): self.connectingFailed(error)
            }
        }
    }

    private func makeConnection(_ bootstrap: ClientBootstrap) -> EventLoopFuture<any Channel> {
        guard (1...65_535).contains(request.port) else {
            return eventLoop.makeFailedFuture(
                WebSocketError(.invalidPort, "Invalid port \(request.port): it is not between 1 and 65535.")
            )
        }
        let (host, port) = (proxy?.host ?? request.hostWithoutBrackets, proxy?.port ?? request.port)
        guard let address = try? SocketAddress(ipAddress: host, port: port) else {
            let lookup = options.resolver ?? HostLookup(eventLoop: eventLoop)
            hostLookup = lookup
            return bootstrap.resolver(lookup).connect(host: host, port: port)
        }
        return bootstrap.connect(to: address)
    }

    /// Stores a channel before it connects, so ``abort()`` can close the channel.
    private func adopt(_ channel: any Channel) -> EventLoopFuture<Void> {
        guard case .connecting = stage else { return eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel) }
        candidates.append(channel)
        channel.closeFuture.assumeIsolated().whenComplete { _ in
            self.candidates.removeAll { $0 === channel }
        }
        return eventLoop.makeSucceededVoidFuture()
    }

    private func connectingFailed(_ error: any Error) {
        guard case .connecting = stage else { return }
        end(WebSocketClosure(code: nil, error: ConnectionFailure.connecting(to: request, through: proxy, error)))
    }

    private func connected(_ channel: any Channel, tls: NIOSSLContext?) {
        hostLookup = nil
        guard case .connecting = stage else { return channel.close(promise: nil) }
        guard channel.isActive else { return connectingFailed(ChannelError.ioOnClosedChannel) }
        do {
            try channel.pipeline.syncOperations.addHandler(self)
            if let proxy {
                stage = .tunneling
                try tunnel(channel, through: proxy) { self.secure(channel, tls: tls) }
            } else {
                secure(channel, tls: tls)
            }
        } catch {
            tunnelingFailed(error)
        }
    }

    private func secure(_ channel: any Channel, tls: NIOSSLContext?) {
        stage = tls == nil ? .upgrading : .securing
        do {
            if let tls {
                // The TLS handler begins the handshake when it is added, and can fire an error at once. So the code
                // adds this session first, and then adds the TLS handler at the front of the pipeline.
                let handler = try NIOSSLClientHandler(context: tls, serverHostname: request.serverNameForTLS)
                try channel.pipeline.syncOperations.addHandler(handler, position: .first)
            } else {
                writeUpgrade()
            }
        } catch {
            securingFailed(error)
        }
    }

    /// Continues after the TLS handshake. The client checks the host name and the pins before it sends the upgrade
    /// request.
    func secured() {
        let handler = try? context?.channel.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
        if case .full = options.tls.certificateVerification, let name = request.serverNameForTLS,
            let failure = TLSFailure.mismatch(of: handler?.peerCertificate, host: name)
        {
            return end(WebSocketClosure(code: nil, error: ConnectionFailure.tls(with: request, failure)))
        }
        let host = request.hostWithoutBrackets
        if let error = options.tls.pinMismatch(of: handler?.peerCertificate, host: host) {
            return end(WebSocketClosure(code: nil, error: WebSocketError(error)))
        }
        stage = .upgrading
        writeUpgrade()
    }

    /// Fails an attempt whose TLS handshake failed or could not begin.
    func securingFailed(_ error: (any Error)?) {
        let handler = try? context?.channel.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
        end(
            WebSocketClosure(
                code: nil,
                error: ConnectionFailure.securing(
                    request,
                    error,
                    certificate: handler?.peerCertificate,
                    trustRoots: options.tls.trustRoots
                )
            )
        )
    }

    func writeUpgrade() {
        guard let context, let upgrade else { return }
        context.writeAndFlush(
            wrapOutboundOut(context.channel.allocator.buffer(string: upgrade.requestText)),
            promise: nil
        )
    }
}

extension WebSocketRequest {
    /// The name for SNI; nil if the host is an address. TLS checks the certificate for an address against the peer's
    /// address.
    fileprivate var serverNameForTLS: String? {
        let host = hostWithoutBrackets
        guard (try? SocketAddress(ipAddress: host, port: 0)) == nil else { return nil }
        return host.hasSuffix(".") ? String(host.dropLast()) : host
    }
}
