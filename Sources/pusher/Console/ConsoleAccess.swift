import NIOCore
import NIOHTTP1

/// Decides which requests the console answers: only those of its own page, whatever other sites the developer's browser
/// visits.
///
/// - The `Host` has to be a name of this machine. A foreign name that leads to this machine (DNS rebinding) is
///   rejected.
/// - An `Origin` has to be the console's own. A request that changes something must have one, and browsers always send
///   it.
/// - All requests except the one for the page need the token, which only the page has. Other sites cannot read the
///   page.
struct ConsoleAccess: Sendable {
    private let hosts: Set<String>
    private let token: String

    /// The header field with the token.
    static let tokenField = "X-Console-Token"

    /// - Parameter host: The address that the console listens on.
    init(host: String, port: Int, token: String) {
        let names = ["127.0.0.1", "localhost", "[::1]", host.contains(":") ? "[\(host)]" : host.lowercased()]
        self.hosts = Set(names.map { "\($0):\(port)" })
        self.token = token
    }

    /// The reason for rejecting the request, as a text for a person; nil if it is accepted.
    func refusal(of head: HTTPRequestHead, target: ConsoleTarget) -> String? {
        let names = head.headers["Host"]
        guard names.count == 1, hosts.contains(names[0].lowercased()) else {
            return "Request refused: the host \"\(names.joined(separator: ", "))\" is not the console's own."
        }
        let origins = head.headers["Origin"]
        guard origins.allSatisfy({ $0.lowercased() == "http://\(names[0].lowercased())" }) else {
            return "Request refused: pages of \"\(origins.joined(separator: ", "))\" must not use the console."
        }
        guard head.method != .POST || origins.count == 1 else {
            return "Request refused: it has no Origin. Only the console's page can make it."
        }
        guard target.path == "/" || target.parameters["token"] ?? head.headers.first(name: Self.tokenField) == token
        else { return "Request refused: its token is not the console's. Open the page again." }
        return nil
    }

    /// 128 random bits.
    static func makeToken() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in
            let digits = String(generator.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// Whether the address can be reached from this machine only.
    static func isLoopback(_ host: String) -> Bool {
        if host.lowercased() == "localhost" { return true }
        guard let address = try? SocketAddress(ipAddress: host, port: 0) else { return false }
        return host.hasPrefix("127.") || address == (try? SocketAddress(ipAddress: "::1", port: 0))
    }
}

/// A request's path and query.
struct ConsoleTarget {
    let path: String
    /// Not decoded, because no path of the console needs decoding.
    let parameters: [String: String]

    init(_ uri: String) {
        let parts = uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        self.path = String(parts.first ?? "")
        let fields = parts.count > 1 ? parts[1].split(separator: "&") : []
        let pairs = fields.map { $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false) }
        self.parameters = Dictionary(pairs.map { (String($0[0]), String($0.count > 1 ? $0[1] : "")) }) { _, last in last
        }
    }
}
