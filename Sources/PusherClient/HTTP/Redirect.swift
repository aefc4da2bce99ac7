import Foundation

/// Where a redirect leads. A `POST` stays a `POST`, with its body: an authorization asked for by `GET` is another one.
package enum Redirect {
    static let maximum = 5

    /// Nil where the response is no redirect.
    package static func target(
        of response: HTTPResponse,
        to request: HTTPRequest
    ) throws(HTTPRequestError) -> HTTPRequest? {
        guard [301, 302, 303, 307, 308].contains(response.status), let location = response.headers["Location"] else {
            return nil
        }
        guard let from = URL(string: request.url), let to = URL(string: location, relativeTo: from)?.absoluteURL else {
            throw HTTPRequestError(.redirectRefused, "it redirects to what is no URL")
        }
        var target = request
        target.url = to.absoluteString
        if let problem = target.problem { throw HTTPRequestError(.redirectRefused, "it redirects wrongly: \(problem)") }
        if from.scheme?.lowercased() == "https", to.scheme?.lowercased() != "https" {
            throw HTTPRequestError(.redirectRefused, "it redirects from https to http, which anybody could read")
        }
        if response.status == 303 {
            target.method = "GET"
            target.body = nil
            target.headers.remove("Content-Type")
        }
        if !isSameOrigin(from, to) {
            for name in ["Authorization", "Cookie", "Proxy-Authorization"] { target.headers.remove(name) }
        }
        return target
    }

    private static func isSameOrigin(_ left: URL, _ right: URL) -> Bool {
        left.scheme?.lowercased() == right.scheme?.lowercased() && left.host?.lowercased() == right.host?.lowercased()
            && port(left) == port(right)
    }

    private static func port(_ url: URL) -> Int { url.port ?? (url.scheme?.lowercased() == "https" ? 443 : 80) }
}
