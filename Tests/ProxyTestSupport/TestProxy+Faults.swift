extension TestProxy {
    /// Answers with an HTTP status, for example 403 or 502, and ends the connection. 407 adds a `Proxy-Authenticate`.
    package func refuse(_ count: Int? = nil, with status: Int) { engine.fail(count, with: .refused(status: status)) }

    /// Ends TCP instead of an answer.
    package func closeBeforeAnswering(_ count: Int) { engine.fail(count, with: .closed) }

    /// Answers with bytes that may be invalid HTTP, and ends the connection.
    package func answer(_ count: Int, raw bytes: [UInt8]) { engine.fail(count, with: .raw(bytes)) }

    /// Answers `CONNECT` as usual, and sends bytes in the same write as its success, as if they came from the target.
    /// For forwarded requests it only uses up the count.
    package func answer(_ count: Int, followedBy bytes: [UInt8]) { engine.fail(count, with: .followed(bytes)) }

    /// Accepts connections and requests, and answers nothing, until ``accept()``. Open tunnels continue.
    package func goSilent() { engine.fail(nil, with: .silent) }

    /// Ends all faults: the proxy answers requests as usual from now on. Requests that it left without an answer stay
    /// unanswered.
    package func accept() { engine.accept() }

    /// Ends the open tunnels, on both sides, without waiting for data that is under way in them.
    package func dropTunnels() { engine.dropTunnels() }
}
