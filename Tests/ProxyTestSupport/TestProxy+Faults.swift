extension TestProxy {
    /// Answers with an HTTP status, for example 403 or 502, and ends the connection. 407 brings a `Proxy-Authenticate`
    /// with it.
    package func refuse(_ count: Int? = nil, with status: Int) { engine.fail(count, with: .refused(status: status)) }

    /// Ends TCP in place of an answer.
    package func closeBeforeAnswering(_ count: Int) { engine.fail(count, with: .closed) }

    /// Answers with bytes that need not be HTTP, and ends the connection.
    package func answer(_ count: Int, raw bytes: [UInt8]) { engine.fail(count, with: .raw(bytes)) }

    /// Answers `CONNECT` as usual, and sends bytes in the same write as its success, as if they came from the target.
    /// Of forwarded requests it only uses up the count.
    package func answer(_ count: Int, followedBy bytes: [UInt8]) { engine.fail(count, with: .followed(bytes)) }

    /// Takes connections and requests, and answers nothing, until ``accept()``. Tunnels that stand go on.
    package func goSilent() { engine.fail(nil, with: .silent) }

    /// Ends all faults: the proxy answers requests as usual from now on. Those that it left without an answer remain so.
    package func accept() { engine.accept() }

    /// Ends the tunnels that stand, on both sides, without waiting for what is under way in them.
    package func dropTunnels() { engine.dropTunnels() }
}
