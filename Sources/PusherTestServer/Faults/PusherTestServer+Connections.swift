extension PusherTestServer {
    /// Sends a close frame. TCP ends when the client has answered, or after ``Options/closeTimeout``.
    ///
    /// Silent connections are closed too.
    /// - Parameters:
    ///   - target: the connections. Default: all.
    ///   - code: any code of 16 bits, also one that RFC 6455 forbids; nil sends a close frame without one.
    ///     Default: 1000.
    ///   - reason: the text after the code. Default: none.
    public func closeConnections(_ target: Target = .all, code: Int? = 1000, reason: String = "") {
        engine.step { brain in brain.closeConnections(target, code: code, reason: reason) }
    }

    /// Ends TCP without a close frame. ``Target/all`` includes connections whose upgrade is stalled.
    public func dropConnections(_ target: Target = .all) {
        engine.step { brain in brain.dropConnections(target) }
    }

    /// Continues reading, but sends nothing any more: no answers, no published events, no WebSocket pongs, no answer to
    /// a close frame. Its own messages are lost, and messages of clients are recorded but have no effect.
    ///
    /// ``Target/all`` includes later connections: their upgrade succeeds, and nothing follows. The REST API still
    /// answers, and commands for connections (such as ``sendText(_:to:)``) still work.
    public func goSilent(_ target: Target = .all) {
        engine.step { brain in brain.setSilent(true, target) }
    }

    /// Ends ``goSilent(_:)``. A connection that was never told its socket id stays without one.
    public func speakAgain(_ target: Target = .all) {
        engine.step { brain in brain.setSilent(false, target) }
    }

    /// Delays every WebSocket message and close frame by this time, in order, on all connections from now on. Zero ends
    /// it. Messages that are delayed already still come when they are due.
    public func delayMessages(by delay: Duration) {
        engine.step { brain in brain.setDelay(delay) }
    }

    /// Makes new connections fail, until ``acceptConnections()``.
    ///
    /// - Parameters:
    ///   - count: how many. Later ones are accepted. Nil, the default, means all. Another call with a count is appended
    ///     to one that is not used up.
    ///   - fault: what happens to them.
    public func failConnections(_ count: Int? = nil, with fault: ConnectionFault) {
        engine.step { brain in brain.failConnections(count: count, with: fault) }
    }

    /// Ends ``failConnections(_:with:)``. Stalled connections stay stalled.
    public func acceptConnections() {
        engine.step { brain in brain.acceptConnections() }
    }

    /// Changes the `activity_timeout` that new connections are told, in seconds; nil leaves it out.
    public func setActivityTimeout(_ seconds: Int?) {
        engine.step { brain in brain.setActivityTimeout(seconds) }
    }

    /// Changes how long a client may be silent, on all connections from now on; nil ends the limit. It does not apply
    /// to silent connections. Before that, the limit is ``Dialect/idleLimit``.
    public func setIdleLimit(_ limit: Dialect.IdleLimit?) {
        engine.step { brain in brain.setIdleLimit(limit) }
    }
}
