extension TestProxy {
    /// Answers with an HTTP status, for example 403 or 502, and closes the connection. With 407, the answer has a
    /// `Proxy-Authenticate` field.
    package func refuse(_ count: Int? = nil, with status: Int) { engine.fail(count, with: .refused(status: status)) }

    /// Closes the TCP connection without an answer.
    package func closeBeforeAnswering(_ count: Int) { engine.fail(count, with: .closed) }

    /// Answers with bytes that may be invalid HTTP, and closes the connection.
    package func answer(_ count: Int, raw bytes: [UInt8]) { engine.fail(count, with: .raw(bytes)) }

    /// Answers `CONNECT` as usual, and appends bytes to the same write, as if the target had sent them. For forwarded
    /// requests, the fault has no effect, but reduces the count.
    package func answer(_ count: Int, followedBy bytes: [UInt8]) { engine.fail(count, with: .followed(bytes)) }

    /// Accepts connections and requests, but does not answer until ``accept()``. Open tunnels continue.
    package func goSilent() { engine.fail(nil, with: .silent) }

    /// Ends all faults. From now on, the proxy answers requests as usual. Earlier requests without an answer stay
    /// unanswered.
    package func accept() { engine.accept() }

    /// Closes the open tunnels on both sides, without waiting for the remaining data.
    package func dropTunnels() { engine.dropTunnels() }
}
