import Foundation
import PusherClient
import RealtimeHTTP

/// A redirect leads to another place of the same origin, with the whole request. A `Retry-After` is a time within its
/// limits.
///
/// Input: a byte that chooses the request and the status, and the `Location`, which also serves as a `Retry-After`. In
/// it `{pad}` stands for 1,000 bytes.
enum RedirectTarget {
    private static let now = Date(timeIntervalSince1970: 1_767_225_600)

    static func run(_ input: [UInt8]) {
        var reader = InputReader(input)
        let choice = reader.byte()
        let location = reader.remaining().padded.text
        let delay = EndpointAnswer.retryDelay(location, now: now)
        require(delay >= .zero && delay <= .seconds(EndpointAnswer.maximumRetryDelay), "a retry after \(delay)")

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
                return require(false, "a redirect is none")
            }
            check(target, request, response)
        } catch {
            require(error.kind == .redirectRefused, "it is refused as \(error.kind)")
            require(error.message.utf8.count < 2_000, "the error has \(error.message.utf8.count) bytes")
        }
    }

    private static func check(_ target: HTTPRequest, _ request: HTTPRequest, _ response: HTTPResponse) {
        require(target.problem == nil, "it goes on to \(target.url): \(target.problem ?? "")")
        let from = origin(request.url)
        let to = origin(target.url)
        require(from == to, "it goes on to \(target.url)")
        require(target.headers["Authorization"] != nil && target.headers["Cookie"] != nil, "credentials are left out")
        let isGet = response.status == 303
        require((target.method == "GET") == isGet && (target.body == nil) == isGet, "\(target.method) after a redirect")
    }

    private struct Origin: Equatable {
        var scheme: String
        var host: String
        var port: String
    }

    /// Compared as text, because an attacker would send a URL that can be read in two ways.
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
