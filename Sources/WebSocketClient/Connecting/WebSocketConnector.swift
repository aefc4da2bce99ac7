package import NIOCore
import NIOPosix
package import RealtimeNetworking

/// Opens WebSocket connections (RFC 6455) over TCP or TLS.
package struct WebSocketConnector: Sendable {
    package let options: WebSocketOptions
    let proxies: ProxyRules
    let tlsContexts: TLSContextSource

    /// Creates a connector. If the TLS options are invalid, each attempt over TLS fails: see ``TLSOptions/validate()``.
    ///
    /// - Parameters:
    ///   - options: The limits and the TLS options. The caller applies `connectTimeout` and `proxy`.
    ///   - proxies: The proxies that connections go through.
    package init(_ options: WebSocketOptions = WebSocketOptions(), proxies: ProxyRules = .direct) {
        self.options = options
        self.proxies = proxies
        self.tlsContexts = TLSContextSource(options.tls)
    }

    /// Throws an error that every attempt would have: an invalid header, subprotocol or path, or a proxy that cannot be
    /// used for the host.
    package func check(_ request: WebSocketRequest) throws(WebSocketError) {
        _ = try UpgradeRequest(request)
        _ = try proxy(for: request)
    }

    func proxy(for request: WebSocketRequest) throws(WebSocketError) -> ProxyServer? {
        do throws(NetworkError) {
            return try proxies.proxy(
                forHost: request.host,
                port: request.port,
                useTLS: request.useTLS,
                tls: options.tls
            )
        } catch {
            throw WebSocketError(error)
        }
    }

    /// Starts a connection and returns at once.
    ///
    /// `receive` is called on the event loop, never within this call: with `.opened` at most once, then with messages,
    /// and with `.closed` exactly once at the end, also if the connection could not be opened. Nothing follows after
    /// that, or after ``WebSocketConnection/abort()``.
    package func connect(
        to request: WebSocketRequest,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (WebSocketEvent) -> Void
    ) -> WebSocketConnection {
        let connection = WebSocketConnection(
            WebSocketSession(request, connector: self, eventLoop: eventLoop, receive: receive),
            eventLoop: eventLoop
        )
        eventLoop.execute { connection.session.value.start() }
        return connection
    }

    /// Does the same over a connected channel, without TLS and without a proxy, on the channel's event loop, for tests
    /// without a socket.
    package func connect(
        to request: WebSocketRequest,
        over channel: any Channel,
        receive: @escaping @Sendable (WebSocketEvent) -> Void
    ) -> WebSocketConnection {
        let connection = WebSocketConnection(
            WebSocketSession(request, connector: self, eventLoop: channel.eventLoop, receive: receive),
            eventLoop: channel.eventLoop
        )
        channel.eventLoop.execute { connection.session.value.start(over: channel) }
        return connection
    }
}

/// One connection. All calls are made on its event loop.
package final class WebSocketConnection: Sendable {
    package let session: NIOLoopBoundBox<WebSocketSession>

    init(_ session: sending WebSocketSession, eventLoop: any EventLoop) {
        self.session = .makeBoxSendingValue(session, eventLoop: eventLoop)
    }

    /// Writes one text message, which the next ``flush()`` sends. The promise succeeds once the bytes are handed to the
    /// operating system, and fails if the connection is not open.
    package func send(_ text: String, promise: EventLoopPromise<Void>?) {
        session.value.send(promise) { WebSocketFrameWriter.frame(text, allocator: $0) }
    }

    /// Writes one binary message, as ``send(_:promise:)`` writes a text.
    package func sendBinary(_ bytes: ByteBuffer, promise: EventLoopPromise<Void>?) {
        session.value.send(promise) { WebSocketFrameWriter.frame(.binary, bytes, allocator: $0) }
    }

    /// Writes a ping. Its payload has at most 125 bytes.
    package func sendPing(_ payload: ByteBuffer = ByteBuffer()) {
        session.value.send(nil) { WebSocketFrameWriter.frame(.ping, payload, allocator: $0) }
    }

    /// Sends everything that was written since the last flush.
    package func flush() {
        session.value.flush()
    }

    /// Starts or stops reading from the socket. Data that was read before is still reported.
    package func setReading(_ isReading: Bool) {
        session.value.setReading(isReading)
    }

    /// Starts the closing handshake. `.closed` follows when the server has answered or the connection has ended.
    package func close(code: WebSocketCloseCode, reason: String) {
        session.value.close(code: code, reason: reason)
    }

    /// Ends the connection at once, in any state. No event follows.
    package func abort() {
        session.value.abort()
    }
}
