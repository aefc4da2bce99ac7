extension PusherTestServer {
    /// Sends a close frame. TCP is ended once the client has answered, or after ``Options/closeTimeout``.
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

    /// Goes on reading, but says nothing any more: no answers, no published events, no WebSocket pongs, no answer to
    /// a close frame. What it would have said is lost, and what clients send is recorded but not obeyed.
    ///
    /// ``Target/all`` includes connections that are made later: their upgrade succeeds, and nothing follows. The REST
    /// API goes on answering, and commands that address connections (such as ``sendText(_:to:)``) go on working.
    public func goSilent(_ target: Target = .all) {
        engine.step { brain in brain.setSilent(true, target) }
    }

    /// Ends what ``goSilent(_:)`` began. A connection that was never told its socket id stays without one.
    public func speakAgain(_ target: Target = .all) {
        engine.step { brain in brain.setSilent(false, target) }
    }

    /// Holds every WebSocket message and close frame back for this long, in order, on all connections from now on.
    /// Zero ends it; what is held back already still comes when it is due.
    public func delayMessages(by delay: Duration) {
        engine.step { brain in brain.setDelay(delay) }
    }

    /// Makes new connections fail, until ``acceptConnections()``.
    ///
    /// - Parameters:
    ///   - count: how many; the ones after them are accepted. Nil, the default, means all. A further call with a count
    ///     is appended to one that has not been used up.
    ///   - fault: what happens to them.
    public func failConnections(_ count: Int? = nil, with fault: ConnectionFault) {
        engine.step { brain in brain.failConnections(count: count, with: fault) }
    }

    /// Ends what ``failConnections(_:with:)`` began. Connections that are stalled remain so.
    public func acceptConnections() {
        engine.step { brain in brain.acceptConnections() }
    }

    /// Changes the `activity_timeout` that new connections are told, in seconds; nil leaves it out.
    public func setActivityTimeout(_ seconds: Int?) {
        engine.step { brain in brain.setActivityTimeout(seconds) }
    }

    /// Changes how long a client may send nothing, on all connections from now on; nil ends the limit. Silent
    /// connections are spared. Until this is called the limit is ``Dialect/idleLimit``.
    public func setIdleLimit(_ limit: Dialect.IdleLimit?) {
        engine.step { brain in brain.setIdleLimit(limit) }
    }
}
