import PusherTestServer
import TestSupport

extension TestProxy {
    /// One request that the proxy answered, or that got no answer because of a fault or a client that closed the
    /// connection.
    package struct Request: Equatable, Sendable {
        /// The request's index in the log.
        let index: Int
        /// The method: `CONNECT` for a tunnel, otherwise the method of the request to forward.
        package let method: String
        /// The host that the client named, before the lookup in ``Options/hosts``. An IPv6 address has no brackets.
        package let host: String
        /// The port that the client named, or 80 if the URL of a forwarded request has no port.
        package let port: Int
        /// Whether the request contained the ``Options/credentials``. Always true if the options have no credentials.
        package let isAuthorized: Bool
        /// The HTTP status of the answer. This is 200 for a tunnel, the origin's status for a forwarded request, or the
        /// proxy's own status. Nil if the proxy sent no status.
        package let status: Int?
    }

    /// The requests so far, in the order of their answers.
    ///
    /// The proxy records each request before the answer. The proxy answers requests that it cannot read with 400 or
    /// 431, and does not record them. Records contain no user names and no passwords.
    package var requests: [Request] { engine.requests }

    /// The number of tunnels with at least one open connection.
    var openTunnelCount: Int { engine.openTunnelCount }

    /// Waits for the first matching request, and returns it.
    /// - Parameter after: The request after which the search begins. If nil, the search begins with the first request.
    @discardableResult
    func nextRequest(
        after: Request? = nil,
        timeout: Duration = .patience,
        where matches: (Request) -> Bool = { _ in true }
    ) async throws -> Request {
        let start = after.map { $0.index + 1 } ?? 0
        return try await engine.changes.wait(timeout: timeout, for: "a matching request to the proxy") {
            engine.requests.dropFirst(start).first(where: matches)
        }
    }

    /// Waits until exactly this many tunnels are open. With 0, waits until all tunnels are closed.
    package func waitForOpenTunnels(count: Int, timeout: Duration = .patience) async throws {
        try await engine.changes.wait(timeout: timeout, for: "\(count) open tunnel(s)") {
            engine.openTunnelCount == count ? () : nil
        }
    }
}
