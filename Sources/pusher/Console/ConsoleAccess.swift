import NIOHTTP1
import PusherTestServer
import RealtimeTestHTTP

/// The rules that restrict the console to its own page. Other sites in the developer's browser cannot use the console.
///
/// - The `Host` must be a name of this machine or an address: see ``HostRule``.
/// - An `Origin` must be the origin of the console. A request that changes something must have an `Origin`, which
///   browsers always send.
/// - All requests except the request for the page need the token, which only the page has. Other sites cannot read the
///   page.
struct ConsoleAccess: Sendable {
    private let hostRule: HostRule
    private let port: Int
    private let token: String

    /// The header field with the token.
    static let tokenField = "X-Console-Token"

    /// - Parameter host: The address on which the console listens.
    init(host: String, port: Int, token: String) {
        self.hostRule = HostRule(boundTo: host)
        self.port = port
        self.token = token
    }

    /// Returns a message that says why the console refuses the request, or nil if the console accepts the request.
    func refusal(of head: HTTPRequestHead, target: ConsoleTarget) -> String? {
        let names = head.headers["Host"]
        guard names.count == 1, hostRule.accepts(names[0], port: port) else {
            return "Request refused: the host \"\(names.joined(separator: ", "))\" is not the console's host."
        }
        let origins = head.headers["Origin"]
        guard origins.allSatisfy({ HostRule.isOrigin($0, of: names[0], scheme: "http") }) else {
            return "Request refused: pages of \"\(origins.joined(separator: ", "))\" must not use the console."
        }
        guard head.method != .POST || origins.count == 1 else {
            return "Request refused: it has no Origin. Only the console's page can make this request."
        }
        guard target.path == "/" || target.parameters["token"] ?? head.headers.first(name: Self.tokenField) == token
        else { return "Request refused: the token is wrong. Open the page again." }
        return nil
    }

    /// Makes a token from 128 random bits.
    static func makeToken() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in
            let digits = String(generator.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}

/// A request's path and query.
struct ConsoleTarget {
    let path: String
    /// The parameters of the query, not decoded, because no request of the page needs decoding.
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
