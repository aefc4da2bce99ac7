extension PusherTestProxy {
    /// One request that was answered, or that a fault left without an answer.
    public struct Request: Hashable, Sendable {
        /// The request's place in the log, counted from 0 over the proxy's whole life.
        public var index: Int
        /// The method: `CONNECT` for a tunnel, otherwise that of the request to forward.
        public var method: String
        /// The host that the client named, before ``Options/hosts`` was looked at; an IPv6 address without brackets.
        public var host: String
        /// The port that the client named; 80 where the URL to forward to has none.
        public var port: Int
        /// Whether it brought the ``Options/credentials``; true where there are none.
        public var isAuthorized: Bool
        /// The HTTP status that it was answered with: 200 for a tunnel, the origin's for a forwarded request, or one of
        /// the proxy's own. Nil where it got no status.
        public var status: Int?
    }

    /// The requests up to now, in the order of their answers; the newest ``Options/maximumRecordCount``.
    ///
    /// Each stands here before its answer goes out. What is not understood as a request to a proxy is answered with 400
    /// or 431 and does not stand here. User names and passwords are not kept.
    public var requests: [Request] { engine.requests }

    /// The number of tunnels that stand now: of those whose client or target still has a connection.
    public var openTunnelCount: Int { engine.openTunnelCount }

    /// The first request that matches; waits for it where there is none yet.
    ///
    /// - Parameters:
    ///   - after: where to begin: with the one after this, or with the oldest that is kept, which is the default.
    ///   - timeout: how long to wait, in real time. Default: 10 s.
    ///   - matches: is called in the caller's task. Default: every request matches.
    /// - Throws: ``PusherTestServer/PusherTestServer/ServerError`` with
    ///   ``PusherTestServer/PusherTestServer/ServerError/Code/timeout``, or `CancellationError`.
    @discardableResult
    public func nextRequest(
        after: Request? = nil,
        timeout: Duration = .seconds(10),
        where matches: (Request) -> Bool = { _ in true }
    ) async throws -> Request {
        var index = after.map { $0.index + 1 } ?? 0
        return try await engine.changes.wait(timeout: timeout, for: "a matching request to the proxy") {
            while let request = engine.request(from: index) {
                if matches(request) { return request }
                index = request.index + 1
            }
            return nil
        }
    }

    /// Waits until exactly this many tunnels stand.
    ///
    /// - Parameters:
    ///   - count: how many; 0 waits until all have ended.
    ///   - timeout: how long to wait, in real time. Default: 10 s.
    /// - Throws: ``PusherTestServer/PusherTestServer/ServerError`` with
    ///   ``PusherTestServer/PusherTestServer/ServerError/Code/timeout``, or `CancellationError`.
    public func waitForOpenTunnels(count: Int, timeout: Duration = .seconds(10)) async throws {
        try await engine.changes.wait(timeout: timeout, for: "\(count) open tunnel(s)") {
            engine.openTunnelCount == count ? () : nil
        }
    }
}
