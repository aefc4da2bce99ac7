extension PusherTestServer {
    /// Makes requests of HTTP transports fail, until ``acceptTransportRequests()``.
    ///
    /// - Parameters:
    ///   - count: how many. Later ones are answered as usual. Nil, the default, means all. Another call with a count is
    ///     appended to one that is not used up.
    ///   - requests: which ones. Default: all.
    ///   - fault: what happens to them.
    public func failTransportRequests(
        _ count: Int? = nil,
        of requests: TransportRequests = .all,
        with fault: TransportRequestFault
    ) {
        engine.step { brain in brain.failTransportRequests(count: count, of: requests, with: fault) }
    }

    /// Ends ``failTransportRequests(_:of:with:)``. Unanswered requests stay unanswered.
    public func acceptTransportRequests() {
        engine.step { brain in brain.acceptTransportRequests() }
    }

    /// Ends the open responses of `xhr_streaming` requests. The sessions survive for
    /// ``HTTPTransports/disconnectDelay``.
    ///
    /// - Parameters:
    ///   - target: the connections. Others are not affected. Default: all.
    ///   - cleanly: whether the responses are completed; if `false`, TCP ends in the middle of them. Default: `true`.
    public func endStreams(_ target: Target = .all, cleanly: Bool = true) {
        engine.step { brain in brain.endStreams(target, cleanly: cleanly) }
    }

    /// Drops sessions of HTTP transports without notifying the clients. A stream stays open, and gets no more frames. A
    /// poll is answered with a heartbeat.
    ///
    /// - Parameters:
    ///   - target: the connections. WebSockets are not affected. Default: all.
    ///   - answering: the answer to the session's next receiving request. Default: a new session.
    public func loseSessions(_ target: Target = .all, answering: LostSession = .newSession) {
        engine.step { brain in brain.loseSessions(target, answering: answering) }
    }

    /// Holds back the bytes of `xhr_streaming` responses, as buffering proxies do. They are passed on when there are
    /// this many of them, or at the end of the response. The status is passed on at once.
    ///
    /// - Parameter size: how many bytes; nil passes on all held bytes, and later ones at once.
    public func bufferStreams(until size: Int?) {
        engine.step { brain in brain.bufferStreams(until: size) }
    }
}
