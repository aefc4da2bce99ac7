/// The rules for web pages that use the server: which pages may use it, and the header fields that let them read its
/// answers (CORS, from the Fetch standard).
package struct CrossOriginPolicy: Sendable {
    private let allowedOrigins: Set<String>
    /// The rule for the `Host`; nil if other machines can reach the server.
    private let hostRule: HostRule?

    /// The time for which a browser may cache a preflight, in seconds.
    private static let preflightLifetime = 600

    /// The methods that a page of an allowed origin may use.
    private let methods: [String]

    /// The advice for a refused host, and for a refused origin.
    private let advice: (host: String, origin: String)

    /// - Parameters:
    ///   - allowedOrigins: The origins of other machines whose pages may use the server.
    ///   - hostRule: The rule for the `Host`; nil if other machines can reach the server.
    ///   - methods: The methods that the server has.
    ///   - hostAdvice: What to do if the server refuses a host.
    ///   - originAdvice: What to do if the server refuses an origin.
    package init(
        allowedOrigins: Set<String>,
        hostRule: HostRule? = nil,
        methods: [String] = ["GET", "POST"],
        hostAdvice: String = "add it to allowedHosts",
        originAdvice: String = "add it to allowedOrigins"
    ) {
        advice = (hostAdvice, originAdvice)
        self.methods = methods
        self.allowedOrigins = Set(allowedOrigins.map { $0.lowercased() })
        self.hostRule = hostRule
    }

    /// Returns the answer to a request that a foreign web page has caused; nil if the server accepts the request.
    ///
    /// Browsers let every page open WebSockets and post forms to every server. CORS only hides the answers of posts, so
    /// the server itself must refuse the requests.
    package func refusal(of request: HTTPTestRequest) -> HTTPTestResponse? {
        let hosts = request.values("Host")
        if let hostRule, hosts.count > 1 || hosts.contains(where: { !hostRule.accepts($0) }) {
            let host = hosts.joined(separator: ", ")
            return HTTPTestResponse(
                status: 403,
                text: "host \"\(host)\" is not a name of this machine: \(advice.host)"
            )
        }
        for origin in request.values("Origin") where !isAllowed(origin) {
            // Some clients that are not browsers send the server's own address as the origin.
            let isOwn = ["http", "https"].contains { scheme in
                hosts.contains { HostRule.isAddress($0) && HostRule.isOrigin(origin, of: $0, scheme: scheme) }
            }
            if isOwn { continue }
            return HTTPTestResponse(
                status: 403,
                text: "origin \"\(origin)\" is not allowed: \(advice.origin)"
            )
        }
        return nil
    }

    /// Returns the header fields of every answer. A request without `Origin` also gets `Vary`, because a cache may
    /// reuse the answer for a request with an `Origin`.
    package func headers(for request: HTTPTestRequest?) -> [HTTPTestField] {
        let vary = HTTPTestField(name: "Vary", value: "Origin")
        guard let origin = request?.origin, isAllowed(origin) else { return [vary] }
        return [
            vary, .init(name: "Access-Control-Allow-Origin", value: origin),
            .init(name: "Access-Control-Allow-Credentials", value: "true"),
        ]
    }

    /// Returns the answer to a browser's preflight; nil if the request is not a preflight. The caller has checked
    /// ``refusal(of:)``.
    package func preflightResponse(to request: HTTPTestRequest) -> HTTPTestResponse? {
        guard request.method == "OPTIONS", request.origin != nil,
            request.first("Access-Control-Request-Method") != nil
        else { return nil }
        var fields: [HTTPTestField] = [
            .init(name: "Access-Control-Allow-Methods", value: methods.joined(separator: ", ")),
            .init(name: "Access-Control-Max-Age", value: String(Self.preflightLifetime)),
        ]
        let wanted = request.values("Access-Control-Request-Headers").joined(separator: ", ")
        // Repeat the requested header names, because a wildcard is not valid for a request with credentials.
        if !wanted.isEmpty { fields.append(.init(name: "Access-Control-Allow-Headers", value: wanted)) }
        return HTTPTestResponse(status: 204, fields: fields)
    }

    func isAllowed(_ origin: String) -> Bool { Self.isLocal(origin) || allowedOrigins.contains(origin.lowercased()) }

    /// Returns whether the origin is on this machine, on any port.
    package static func isLocal(_ origin: String) -> Bool {
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

extension HTTPTestRequest {
    /// The origin of the page that makes the request. Nil unless the request has exactly one `Origin`.
    fileprivate var origin: String? {
        let origins = values("Origin")
        return origins.count == 1 ? origins[0] : nil
    }
}
