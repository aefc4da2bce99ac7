/// The rules for web pages that use the server: which pages may use it, and the header fields that let them read its
/// answers (CORS, from the Fetch standard).
struct CrossOriginPolicy: Sendable {
    private let allowedOrigins: Set<String>
    /// The rule for the `Host`; nil if other machines can reach the server.
    private let hostRule: HostRule?

    /// The time for which a browser may cache a preflight, in seconds.
    private static let preflightLifetime = 600

    init(allowedOrigins: Set<String>, hostRule: HostRule? = nil) {
        self.allowedOrigins = Set(allowedOrigins.map { $0.lowercased() })
        self.hostRule = hostRule
    }

    /// Returns the answer to a request that a foreign web page has caused; nil if the server accepts the request.
    ///
    /// Browsers let every page open WebSockets and post forms to every server. CORS only hides the answers of posts, so
    /// the server itself must refuse the requests.
    func refusal(of request: PusherTestServer.Request) -> RESTResponse? {
        let hosts = request.values("Host")
        if let hostRule, hosts.count > 1 || hosts.contains(where: { !hostRule.accepts($0) }) {
            let host = hosts.joined(separator: ", ")
            return RESTResponse(
                status: 403,
                body:
                    "host \"\(host)\" is not a name of this machine: add it to allowedHosts (pusher serve: --allow-host)"
            )
        }
        for origin in request.values("Origin") where !isAllowed(origin) {
            // Some clients that are not browsers send the server's own address as the origin.
            let isOwn = ["http", "https"].contains { scheme in
                hosts.contains { HostRule.isAddress($0) && HostRule.isOrigin(origin, of: $0, scheme: scheme) }
            }
            if isOwn { continue }
            return RESTResponse(
                status: 403,
                body: "origin \"\(origin)\" is not allowed: add it to allowedOrigins (pusher serve: --allow-origin)"
            )
        }
        return nil
    }

    /// Returns the header fields of every answer. A request without `Origin` also gets `Vary`, because a cache may
    /// reuse the answer for a request with an `Origin`.
    func headers(for request: PusherTestServer.Request?) -> [PusherTestServer.Request.Header] {
        let vary = PusherTestServer.Request.Header(name: "Vary", value: "Origin")
        guard let origin = request?.origin, isAllowed(origin) else { return [vary] }
        return [
            vary, .init(name: "Access-Control-Allow-Origin", value: origin),
            .init(name: "Access-Control-Allow-Credentials", value: "true"),
        ]
    }

    /// Returns the answer to a browser's preflight; nil if the request is not a preflight. The caller has checked
    /// ``refusal(of:)``.
    func preflightResponse(to request: PusherTestServer.Request) -> RESTResponse? {
        guard request.method == "OPTIONS", request.origin != nil,
            request.header("Access-Control-Request-Method") != nil
        else { return nil }
        var headers: [PusherTestServer.Request.Header] = [
            .init(name: "Access-Control-Allow-Methods", value: "GET, POST"),
            .init(name: "Access-Control-Max-Age", value: String(Self.preflightLifetime)),
        ]
        let wanted = request.values("Access-Control-Request-Headers").joined(separator: ", ")
        // Repeat the requested header names, because a wildcard is not valid for a request with credentials.
        if !wanted.isEmpty { headers.append(.init(name: "Access-Control-Allow-Headers", value: wanted)) }
        return RESTResponse(status: 204, headers: headers, body: "")
    }

    func isAllowed(_ origin: String) -> Bool { Self.isLocal(origin) || allowedOrigins.contains(origin.lowercased()) }

    /// Returns whether the origin is on this machine, on any port.
    static func isLocal(_ origin: String) -> Bool {
        guard let scheme = ["http://", "https://"].first(where: origin.hasPrefix) else { return false }
        let authority = origin.dropFirst(scheme.count)
        return ["localhost", "127.0.0.1", "[::1]"].contains { host in
            guard authority.hasPrefix(host) else { return false }
            let rest = authority.dropFirst(host.count)
            guard !rest.isEmpty else { return true }
            let port = rest.dropFirst()
            return rest.hasPrefix(":") && !port.isEmpty && port.utf8.allSatisfy { 0x30...0x39 ~= $0 }
                && UInt16(port) != nil
        }
    }
}

extension PusherTestServer.Request {
    /// The origin of the page that makes the request. Nil unless the request has exactly one `Origin`.
    fileprivate var origin: String? {
        let origins = values("Origin")
        return origins.count == 1 ? origins[0] : nil
    }

    fileprivate func values(_ name: String) -> [String] {
        headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }
}
