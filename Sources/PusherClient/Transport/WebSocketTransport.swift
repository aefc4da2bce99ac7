package import NIOCore
package import NIOPosix
package import PusherProtocol

/// WebSocket (RFC 6455) over TCP or TLS, on NIO.
package struct WebSocketTransport: Transport {
    package struct Options: Sendable {
        /// The largest message accepted, over all its fragments, in bytes. Default: 16 MiB.
        package var maximumMessageSize: Int
        /// How many bytes may wait for a server that does not read. Default: 16 MiB.
        package var maximumUnwrittenBytes: Int
        /// How long the server may take for its part of the closing handshake. Default: 2 seconds.
        package var closingTimeout: Duration
        package var tls: TLSOptions
        /// What lies between. Default: nothing.
        package var proxies: ProxyRules
        /// Finds a host's addresses. Default: the system.
        package var resolver: (any Resolver & Sendable)?

        package init(
            maximumMessageSize: Int = 16 << 20,
            maximumUnwrittenBytes: Int = 16 << 20,
            closingTimeout: Duration = .seconds(2),
            tls: TLSOptions = TLSOptions(),
            proxies: ProxyRules = .direct,
            resolver: (any Resolver & Sendable)? = nil
        ) {
            self.maximumMessageSize = maximumMessageSize
            self.maximumUnwrittenBytes = maximumUnwrittenBytes
            self.closingTimeout = closingTimeout
            self.tls = tls
            self.proxies = proxies
            self.resolver = resolver
        }
    }

    let options: Options
    let tlsContexts: TLSContextSource

    /// Options that TLS cannot use make every attempt over TLS fail: see ``TLSOptions/validate()``.
    package init(_ options: Options = Options()) {
        self.options = options
        self.tlsContexts = TLSContextSource(options.tls)
    }

    init(_ options: PusherClientOptions, proxies: ProxyRules) {
        self.init(
            Options(
                maximumMessageSize: options.limits.messageSize,
                maximumUnwrittenBytes: options.limits.sendBufferSize,
                closingTimeout: options.timeouts.clamped.closing,
                tls: options.tls,
                proxies: proxies
            )
        )
    }

    package func open(
        _ request: TransportRequest,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportConnection {
        connect(to: request, on: eventLoop, receive: receive)
    }

    /// The same as ``open(_:on:receive:)``, for callers that need what only a WebSocket has.
    package func connect(
        to request: TransportRequest,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> WebSocketConnection {
        let connection = WebSocketConnection(
            WebSocketSession(request, transport: self, eventLoop: eventLoop, receive: receive),
            eventLoop: eventLoop
        )
        eventLoop.execute { connection.start() }
        return connection
    }

    /// The same over a channel that is connected already, without TLS and without a proxy, on the channel's event loop:
    /// for tests that have no socket.
    package func connect(
        to request: TransportRequest,
        over channel: any Channel,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> WebSocketConnection {
        let connection = WebSocketConnection(
            WebSocketSession(request, transport: self, eventLoop: channel.eventLoop, receive: receive),
            eventLoop: channel.eventLoop
        )
        channel.eventLoop.execute { connection.session.value.start(over: channel) }
        return connection
    }
}

/// One WebSocket. All calls are made on its event loop.
package final class WebSocketConnection: TransportConnection {
    let session: NIOLoopBoundBox<WebSocketSession>

    init(_ session: sending WebSocketSession, eventLoop: any EventLoop) {
        self.session = .makeBoxSendingValue(session, eventLoop: eventLoop)
    }

    func start() {
        session.value.start()
    }

    package func send(_ text: String, promise: EventLoopPromise<Void>?) {
        session.value.send(promise) { WebSocketFrameWriter.frame(text, allocator: $0) }
    }

    /// Writes one binary message, as ``send(_:promise:)`` does a text.
    package func sendBinary(_ bytes: ByteBuffer, promise: EventLoopPromise<Void>?) {
        session.value.send(promise) { WebSocketFrameWriter.frame(.binary, bytes, allocator: $0) }
    }

    /// Writes a WebSocket ping.
    package func sendPing() {
        session.value.send(nil) { WebSocketFrameWriter.frame(.ping, ByteBuffer(), allocator: $0) }
    }

    package func flush() {
        session.value.flush()
    }

    package func close(code: CloseCode, reason: String) {
        session.value.close(code: code, reason: reason)
    }

    package func abort() {
        session.value.abort()
    }
}
