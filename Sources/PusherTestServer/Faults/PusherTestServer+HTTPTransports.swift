extension PusherTestServer {
    /// Makes requests of HTTP transports fail, until ``acceptTransportRequests()``.
    ///
    /// - Parameters:
    ///   - count: how many; the ones after them are answered as usual. Nil, the default, means all. A further call with a
    ///     count is appended to one that has not been used up.
    ///   - requests: which ones. Default: all.
    ///   - fault: what happens to them.
    public func failTransportRequests(
        _ count: Int? = nil,
        of requests: TransportRequests = .all,
        with fault: TransportRequestFault
    ) {
        engine.step { brain in brain.failTransportRequests(count: count, of: requests, with: fault) }
    }

    /// Ends what ``failTransportRequests(_:of:with:)`` began. Requests that are not answered yet remain so.
    public func acceptTransportRequests() {
        engine.step { brain in brain.acceptTransportRequests() }
    }

    /// Ends the open responses of `xhr_streaming` requests. The sessions live on for
    /// ``HTTPTransports/disconnectDelay``.
    ///
    /// - Parameters:
    ///   - target: the connections. Those that are not over such a stream are left alone. Default: all.
    ///   - cleanly: whether the responses come to their end; if `false`, TCP ends in the middle of them. Default: `true`.
    public func endStreams(_ target: Target = .all, cleanly: Bool = true) {
        engine.step { brain in brain.endStreams(target, cleanly: cleanly) }
    }

    /// Forgets sessions of HTTP transports without telling the clients. A stream stays open, and nothing comes on it any
    /// more. A poll is answered with a heartbeat.
    ///
    /// - Parameters:
    ///   - target: the connections. WebSockets are left alone. Default: all.
    ///   - answering: what the next receiving request of the session gets. Default: a new session.
    public func loseSessions(_ target: Target = .all, answering: LostSession = .newSession) {
        engine.step { brain in brain.loseSessions(target, answering: answering) }
    }

    /// Holds the bytes of `xhr_streaming` responses back, as proxies do that buffer responses: they go on when there are
    /// this many of them, or at the end of the response. The status goes on at once.
    ///
    /// - Parameter size: how many bytes; nil hands on what is held back, and everything after it at once.
    public func bufferStreams(until size: Int?) {
        engine.step { brain in brain.bufferStreams(until: size) }
    }
}
