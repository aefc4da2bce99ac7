extension PusherTestServer {
    /// Makes requests of HTTP transports fail, until ``acceptTransportRequests()``.
    ///
    /// - Parameters:
    ///   - count: The number of requests. The server answers later requests as usual. Default: nil, for all requests. A
    ///     later call takes effect after earlier calls with a count. A later call replaces an earlier call without a
    ///     count for the same kinds.
    ///   - requests: The kinds of requests. Default: all.
    ///   - fault: The answer to these requests.
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

    /// Ends the open responses of `xhr_streaming` requests. The sessions stay open for
    /// ``HTTPTransports/disconnectDelay``.
    ///
    /// - Parameters:
    ///   - target: The connections. Connections without an `xhr_streaming` response are not affected. Default: all.
    ///   - cleanly: Whether the server completes the responses. If `false`, the server closes the TCP connection in the
    ///     middle of a response. Default: `true`.
    public func endStreams(_ target: Target = .all, cleanly: Bool = true) {
        engine.step { brain in brain.endStreams(target, cleanly: cleanly) }
    }

    /// Drops sessions of HTTP transports without notifying the clients. A stream stays open, but gets no more frames.
    /// The server answers a poll with a heartbeat.
    ///
    /// - Parameters:
    ///   - target: The connections. WebSockets are not affected. Default: all.
    ///   - answering: The answer to the session's next receiving request. Default: a new session.
    public func loseSessions(_ target: Target = .all, answering: LostSession = .newSession) {
        engine.step { brain in brain.loseSessions(target, answering: answering) }
    }

    /// Holds back the bytes of `xhr_streaming` responses, as buffering proxies do. The server sends the bytes when
    /// `size` bytes have accumulated, or when the response ends. The server sends the status at once.
    ///
    /// - Parameter size: The number of bytes. If nil, the server sends all held bytes, and from now on sends bytes at
    ///   once.
    public func bufferStreams(until size: Int?) {
        engine.step { brain in brain.bufferStreams(until: size) }
    }
}
