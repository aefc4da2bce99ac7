import PusherTestServer

extension TestProxy {
    /// One request that the proxy answered, or that a fault left without an answer.
    package struct Request: Equatable, Sendable {
        /// The request's place in the log.
        let index: Int
        /// The method: `CONNECT` for a tunnel, otherwise the method of the request to forward.
        package let method: String
        /// The host that the client named, before the proxy looked at ``Options/hosts``; an IPv6 address without
        /// brackets.
        package let host: String
        /// The port that the client named; 80 if the URL to forward to has none.
        package let port: Int
        /// Whether it contained the ``Options/credentials``; true if there are none.
        package let isAuthorized: Bool
        /// The HTTP status of the answer: 200 for a tunnel, the origin's for a forwarded request, or one of the
        /// proxy's own. Nil if it got no status.
        package let status: Int?
    }

    /// The requests so far, in the order of their answers.
    ///
    /// Each is recorded before its answer is sent. Requests that the proxy does not understand are answered with 400 or
    /// 431, and not recorded. Records contain no user names and no passwords.
    package var requests: [Request] { engine.requests }

    /// The number of open tunnels: those whose client or target still has a connection.
    var openTunnelCount: Int { engine.openTunnelCount }

    /// The first request that matches; waits for it if there is none yet.
    /// - Parameter after: the request after which to begin; nil begins with the first one.
    @discardableResult
    func nextRequest(
        after: Request? = nil,
        timeout: Duration = .seconds(10),
        where matches: (Request) -> Bool = { _ in true }
    ) async throws -> Request {
        let start = after.map { $0.index + 1 } ?? 0
        return try await engine.changes.wait(timeout: timeout, for: "a matching request to the proxy") {
            engine.requests.dropFirst(start).first(where: matches)
        }
    }

    /// Waits until exactly this many tunnels are open; 0 waits until all have ended.
    package func waitForOpenTunnels(count: Int, timeout: Duration = .seconds(10)) async throws {
        try await engine.changes.wait(timeout: timeout, for: "\(count) open tunnel(s)") {
            engine.openTunnelCount == count ? () : nil
        }
    }
}
