import NIOCore
import NIOHTTP1

/// A client's request to a proxy.
struct ProxyRequest: Sendable {
    struct Target: Hashable, Sendable {
        var host: String
        var port: Int
    }

    let method: String
    let target: Target
    /// The head of the request to the origin, or nil if the client requests a tunnel.
    let forwardedHead: HTTPRequestHead?

    /// Returns nil if the request is not for a proxy.
    init?(_ head: HTTPRequestHead) {
        method = head.method.rawValue
        if head.method == .CONNECT {
            guard let target = Target(authority: head.uri, defaultPort: nil) else { return nil }
            self.target = target
            forwardedHead = nil
            return
        }
        let scheme = "http://"
        guard head.uri.prefix(scheme.count).lowercased() == scheme else { return nil }
        let rest = head.uri.dropFirst(scheme.count)
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard let target = Target(authority: authority, defaultPort: 80) else { return nil }
        self.target = target
        let path = rest[authority.endIndex...].prefix { $0 != "#" }
        let uri = path.first == "/" ? String(path) : "/" + path
        forwardedHead = HTTPRequestHead(
            version: .http1_1,
            method: head.method,
            uri: uri,
            headers: head.headers.forOrigin(host: String(authority))
        )
    }
}

extension ProxyRequest.Target {
    /// - Parameter defaultPort: The port if the authority names no port. If nil, the authority must name a port.
    init?(authority: some StringProtocol, defaultPort: Int?) {
        let text = authority[...]
        let end: Substring.Index
        if text.first == "[" {
            guard let bracket = text.firstIndex(of: "]") else { return nil }
            host = String(text[text.index(after: text.startIndex)..<bracket])
            end = text.index(after: bracket)
        } else {
            end = text.firstIndex(of: ":") ?? text.endIndex
            host = String(text[..<end])
        }
        let port = text[end...]
        // A host with an @ is invalid, because text before the @ would be user information.
        guard !host.isEmpty, !host.contains("@") else { return nil }
        if port.isEmpty {
            guard let defaultPort else { return nil }
            self.port = defaultPort
        } else {
            let digits = port.dropFirst()
            guard port.first == ":", digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                let number = UInt16(digits), number > 0
            else { return nil }
            self.port = Int(number)
        }
    }

    /// Returns the address to connect to. Returns nil if the name is unknown, or the address is not an address of this
    /// machine.
    func loopbackAddress(hosts: [String: String]) -> SocketAddress? {
        let text = hosts[host.lowercased()] ?? host
        guard let address = try? SocketAddress(ipAddress: text, port: port) else { return nil }
        switch address {
        case .v4: return text.hasPrefix("127.") ? address : nil
        case .v6: return address == (try? SocketAddress(ipAddress: "::1", port: port)) ? address : nil
        case .unixDomainSocket: return nil
        }
    }
}

extension HTTPHeaders {
    private static let hopByHop = [
        "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "TE", "Trailer",
        "Upgrade",
    ]
    /// Fields that `Connection` cannot remove, because the recipient needs them to find the end of the message and the
    /// host.
    private static let kept = ["content-length", "host", "transfer-encoding"]

    /// Returns a copy without the fields that apply only to the next hop (RFC 9110, 7.6.1).
    func withoutHopByHop() -> HTTPHeaders {
        var headers = self
        for name in self[canonicalForm: "Connection"] where !Self.kept.contains(name.lowercased()) {
            headers.remove(name: String(name))
        }
        for name in Self.hopByHop { headers.remove(name: name) }
        headers.add(name: "Via", value: "1.1 TestProxy")
        headers.add(name: "Connection", value: "close")
        return headers
    }

    fileprivate func forOrigin(host: String) -> HTTPHeaders {
        var headers = withoutHopByHop()
        headers.replaceOrAdd(name: "Host", value: host)
        // The proxy has already answered `Expect: 100-continue`, so the origin must not answer again.
        headers.remove(name: "Expect")
        if headers.contains(name: "Transfer-Encoding") {
            headers.replaceOrAdd(name: "Transfer-Encoding", value: "chunked")
        }
        return headers
    }

    func hasProxyAuthorization(_ credentials: TestProxy.Credentials) -> Bool {
        guard let value = first(name: "Proxy-Authorization") else { return false }
        let parts = value.split(separator: " ", maxSplits: 1)
        return parts.count == 2 && parts[0].lowercased() == "basic" && parts[1] == credentials.token
    }
}
