import Foundation
import PusherClient
import RealtimeHTTP

/// Checks that the client follows a redirect only within the same origin, with the whole request. A `Retry-After` gives
/// a time within its limits.
///
/// Input: a byte that chooses the request and the status, and the `Location`, which also serves as a `Retry-After`. In
/// the `Location`, `{pad}` stands for 1,000 bytes.
enum RedirectTarget {
    private static let now = Date(timeIntervalSince1970: 1_767_225_600)

    static func run(_ input: [UInt8]) {
        var reader = InputReader(input)
        let choice = reader.byte()
        let location = reader.remaining().padded.text
        let delay = EndpointAnswer.retryDelay(location, now: now)
        require(delay >= .zero && delay <= .seconds(EndpointAnswer.maximumRetryDelay), "the retry delay is \(delay)")

        let statuses = [301, 302, 303, 307, 308]
        let response = HTTPResponse(status: statuses[Int(choice >> 1) % 5], headers: ["Location": location])
        let request = HTTPRequest(
            url: choice & 1 == 0 ? "http://server.test/a/b?c" : "https://server.test:8443/a/b?c",
            method: "POST",
            headers: ["Authorization": "Bearer x", "Cookie": "x", "Accept": "*/*", "Content-Type": "text/plain"],
            body: [1],
            timeout: .seconds(10),
            maximumResponseSize: 1_000
        )
        do throws(HTTPRequestError) {
            guard let target = try Redirect.target(of: response, to: request) else {
                return require(false, "the client treats a redirect as another answer")
            }
            check(target, request, response)
        } catch {
            require(error.kind == .redirectRefused, "the error is \(error.kind), not redirectRefused")
            require(error.message.utf8.count < 2_000, "the error has \(error.message.utf8.count) bytes")
        }
    }

    private static func check(_ target: HTTPRequest, _ request: HTTPRequest, _ response: HTTPResponse) {
        require(target.problem == nil, "the client follows the redirect to \(target.url): \(target.problem ?? "")")
        let from = origin(request.url)
        let to = origin(target.url)
        require(from == to, "the client follows the redirect to another origin: \(target.url)")
        require(
            target.headers["Authorization"] != nil && target.headers["Cookie"] != nil,
            "the redirected request lacks credentials"
        )
        let isGet = response.status == 303
        require(
            (target.method == "GET") == isGet && (target.body == nil) == isGet,
            "the method after the redirect is \(target.method)"
        )
    }

    private struct Origin: Equatable {
        var scheme: String
        var host: String
        var port: String
    }

    /// Returns the origin of a URL, parsed as text. An attacker may send a URL that two parsers read differently.
    private static func origin(_ url: String) -> Origin {
        let scheme = url.prefix { $0 != ":" }.lowercased()
        let authority = url.dropFirst(scheme.count + 3).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let place = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        let end = place.hasPrefix("[") ? place.firstIndex(of: "]") ?? place.startIndex : place.startIndex
        let colon = place[end...].firstIndex(of: ":") ?? place.endIndex
        let port = place[colon...].dropFirst()
        return Origin(
            scheme: scheme,
            host: place[..<colon].lowercased(),
            port: port.isEmpty ? (scheme == "https" ? "443" : "80") : String(port)
        )
    }
}
