extension PusherTestServer {
    /// Sends a close frame. The server closes the TCP connection when the client has answered, or after
    /// ``Options/closeTimeout``.
    ///
    /// The command also closes silent connections.
    /// - Parameters:
    ///   - target: The connections. Default: all.
    ///   - code: Any 16-bit code, even if RFC 6455 forbids it. Nil sends a close frame without a code. Default: 1000.
    ///   - reason: The text after the code. Default: none.
    public func closeConnections(_ target: Target = .all, code: Int? = 1000, reason: String = "") {
        engine.step { brain in brain.closeConnections(target, code: code, reason: reason) }
    }

    /// Closes TCP connections without a close frame. ``Target/all`` includes connections whose upgrade is stalled.
    public func dropConnections(_ target: Target = .all) {
        engine.step { brain in brain.dropConnections(target) }
    }

    /// Makes the server silent. The server continues to read, but sends no answers, published events, WebSocket pongs
    /// or close frames. Clients never get the messages that the server would have sent. The server records messages of
    /// clients, but the messages have no effect. The server still answers messages over HTTP with status 204. It still
    /// sends a close frame if a client violates the WebSocket protocol, or sends a message that is too long.
    ///
    /// ``Target/all`` includes later connections. Their upgrade succeeds, but the server sends nothing afterwards. The
    /// REST API still answers, and commands for connections (such as ``sendText(_:to:)``) still work.
    public func goSilent(_ target: Target = .all) {
        engine.step { brain in brain.setSilent(true, target) }
    }

    /// Ends ``goSilent(_:)``. A connection that missed its `pusher:connection_established` does not get this message
    /// later.
    public func speakAgain(_ target: Target = .all) {
        engine.step { brain in brain.setSilent(false, target) }
    }

    /// Delays all messages, pongs and close frames by this time, on open and new connections. Messages keep their
    /// order. Zero ends the delay. Messages that are already delayed still arrive when they are due.
    public func delayMessages(by delay: Duration) {
        engine.step { brain in brain.setDelay(delay) }
    }

    /// Makes new connections fail, until ``acceptConnections()``.
    ///
    /// - Parameters:
    ///   - count: The number of connections. The server accepts later connections. Default: nil, for all connections. A
    ///     later call takes effect after earlier calls with a count, and replaces an earlier call without a count.
    ///   - fault: The failure of these connections.
    public func failConnections(_ count: Int? = nil, with fault: ConnectionFault) {
        engine.step { brain in brain.failConnections(count: count, with: fault) }
    }

    /// Ends ``failConnections(_:with:)``. Connections that are already stalled stay stalled.
    public func acceptConnections() {
        engine.step { brain in brain.acceptConnections() }
    }

    /// Changes the `activity_timeout` that the server sends on new connections, in seconds. Nil omits the field.
    public func setActivityTimeout(_ seconds: Int?) {
        engine.step { brain in brain.setActivityTimeout(seconds) }
    }

    /// Changes how long a client may be silent, on open and new connections. Nil removes the limit. The limit does not
    /// apply to connections on which the server is silent. Until the first call, the limit is ``Dialect/idleLimit``.
    public func setIdleLimit(_ limit: Dialect.IdleLimit?) {
        engine.step { brain in brain.setIdleLimit(limit) }
    }
}
