/// The rules for web pages that use the server (CORS, from the Fetch standard).
struct CrossOriginPolicy: Sendable {
    private let allowedOrigins: Set<String>

    /// The time for which a browser may cache a preflight, in seconds.
    private static let preflightLifetime = 600

    init(allowedOrigins: Set<String>) { self.allowedOrigins = Set(allowedOrigins.map { $0.lowercased() }) }

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

    /// Returns the answer to a browser's preflight; nil if the request is not a preflight.
    func preflightResponse(to request: PusherTestServer.Request) -> RESTResponse? {
        guard request.method == "OPTIONS", let origin = request.origin,
            request.header("Access-Control-Request-Method") != nil
        else { return nil }
        guard isAllowed(origin) else {
            return RESTResponse(status: 403, body: "origin \"\(origin)\" is not allowed: add it to allowedOrigins")
        }
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
