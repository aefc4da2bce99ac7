extension PusherTestProxy {
    /// Answers with an HTTP status, for example 403 or 502, and ends the connection.
    ///
    /// - Parameters:
    ///   - count: how many requests. Default: all.
    ///   - status: the status. 407 brings a `Proxy-Authenticate` with it.
    public func refuse(_ count: Int? = nil, with status: Int) { engine.fail(count, with: .refused(status: status)) }

    /// Ends TCP in place of an answer.
    /// - Parameter count: how many requests. Default: all.
    public func closeBeforeAnswering(_ count: Int? = nil) { engine.fail(count, with: .closed) }

    /// Answers with bytes that need not be HTTP, and ends the connection.
    ///
    /// - Parameters:
    ///   - count: how many requests. Default: all.
    ///   - bytes: the whole answer, as it goes out.
    public func answer(_ count: Int? = nil, raw bytes: [UInt8]) { engine.fail(count, with: .raw(bytes)) }

    /// Answers `CONNECT` as usual, and sends bytes in the same write as its success, as if they came from the target.
    /// Of forwarded requests it only uses up the count.
    ///
    /// - Parameters:
    ///   - count: how many requests. Default: all.
    ///   - bytes: what comes straight after the head of the answer.
    public func answer(_ count: Int? = nil, followedBy bytes: [UInt8]) { engine.fail(count, with: .followed(bytes)) }

    /// Takes connections and requests, and answers nothing, until ``accept()``. Tunnels that stand go on.
    public func goSilent() { engine.fail(nil, with: .silent) }

    /// Ends all faults: requests are answered as usual from now on. Those that were left without an answer remain so.
    public func accept() { engine.accept() }

    /// Ends the tunnels that stand, on both sides, without waiting for what is under way in them.
    public func dropTunnels() { engine.dropTunnels() }
}
