package import NIOCore
import NIOPosix
package import RealtimeNetworking

/// Opens WebSocket connections (RFC 6455) over TCP or TLS.
package final class WebSocketConnector: Sendable {
    package let options: WebSocketOptions
    let dialer: Dialer

    /// Creates a connector whose connections have a dialer of their own.
    ///
    /// - Parameters:
    ///   - options: The limits, the TLS options and the resolver. If the TLS options are invalid, each attempt over TLS
    ///     fails: see ``TLSOptions/validate()``. The connector ignores `connectTimeout` and `proxy`, which the caller
    ///     handles.
    ///   - proxies: The proxies that connections go through.
    package convenience init(_ options: WebSocketOptions = WebSocketOptions(), proxies: ProxyRules = .direct) {
        self.init(
            options,
            dialer: Dialer(tlsContexts: TLSContextSource(options.tls), proxies: proxies, resolver: options.resolver)
        )
    }

    /// Creates a connector whose connections share a dialer with other connections of the client.
    ///
    /// - Parameters:
    ///   - options: The limits. The connector ignores `connectTimeout`, which the caller handles, and the options that
    ///     belong to the dialer.
    ///   - dialer: Makes the connections.
    package init(_ options: WebSocketOptions, dialer: Dialer) {
        self.options = options
        self.dialer = dialer
    }

    /// Throws an error if every attempt would fail. Either the request has an invalid host, path, subprotocol or
    /// header, or the client cannot use the proxy for the host.
    package func check(_ request: WebSocketRequest) throws(WebSocketError) {
        _ = try UpgradeRequest(request, extensions: options.extensionOffer())
        do throws(NetworkError) {
            _ = try dialer.proxy(for: request.target)
        } catch {
            throw WebSocketError(error)
        }
    }

    /// Starts a connection and returns at once.
    ///
    /// The connection calls `receive` on the event loop, never within this call. The connection reports `.opened` at
    /// most once, then all other events, and finally `.closed` exactly once. If the connection could not be opened, the
    /// only event is `.closed`. After `.closed` or ``WebSocketConnection/abort()``, there are no events.
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

    /// Starts a connection over a connected channel, on the channel's event loop. The connection uses neither TLS nor a
    /// proxy. Tests use this method to avoid a socket.
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

/// A connection. Call the methods of a connection only on its event loop.
package final class WebSocketConnection: Sendable {
    package let session: NIOLoopBoundBox<WebSocketSession>

    init(_ session: sending WebSocketSession, eventLoop: any EventLoop) {
        self.session = .makeBoxSendingValue(session, eventLoop: eventLoop)
    }

    /// Writes a text message, which the next ``flush()`` sends. The promise succeeds when the operating system has
    /// taken the bytes, and fails if the connection is not open.
    package func send(_ text: String, promise: EventLoopPromise<Void>?) {
        session.value.sendText(text, promise: promise)
    }

    /// Writes a binary message, which the next ``flush()`` sends. See ``send(_:promise:)`` for the promise.
    package func sendBinary(_ bytes: ByteBuffer, promise: EventLoopPromise<Void>?) {
        session.value.sendBinary(bytes, promise: promise)
    }

    /// Sends a message, or lets it wait while more than ``WebSocketOptions/sendBufferSize`` bytes are unsent. The
    /// promise succeeds when the operating system has taken the bytes.
    package func sendInTurn(_ message: WebSocketMessage, promise: EventLoopPromise<Void>) {
        session.value.sendInTurn(message, promise: promise)
    }

    /// Writes a ping with a payload of at most 125 bytes. The next ``flush()`` sends the ping.
    package func sendPing(_ payload: ByteBuffer = ByteBuffer()) {
        session.value.send(nil) { $0.frame(.ping, payload, allocator: $1) }
    }

    /// Sends all frames that were written since the last flush, at the end of this turn of the event loop or earlier.
    package func flush() {
        session.value.flush()
    }

    /// Starts or stops reading from the socket. After a stop, the connection still reports data that it has already
    /// read.
    package func setReading(_ isReading: Bool) {
        session.value.setReading(isReading)
    }

    /// Starts the closing handshake. `.closed` follows when the server has answered, when the connection is lost, or
    /// after ``WebSocketOptions/closeTimeout``. If the connection is not open yet, aborts the attempt and then reports
    /// `.closed`.
    package func close(code: WebSocketCloseCode, reason: String) {
        session.value.close(code: code, reason: reason)
    }

    /// Closes the connection at once, in any state, without an event.
    package func abort() {
        session.value.abort()
    }
}
