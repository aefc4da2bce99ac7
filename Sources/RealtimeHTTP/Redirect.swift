import Foundation
import RealtimeNetworking
import RealtimePrimitives

/// The target of a redirect.
package enum Redirect {
    static let maximum = 5

    package enum Rules: Hashable, Sendable {
        /// Redirects to another place of the same origin. A `POST` stays a `POST`, with its body, because a `GET` would
        /// be a different request.
        case sameOrigin
        /// Redirects to any origin, as in browsers: without header fields and bodies that are for the first origin
        /// only. A `POST` that was found elsewhere becomes a `GET`. A redirect without a location is an error.
        ///
        /// - Parameter leavesTLS: Whether a redirect may lead from `https` to `http`.
        case anyOrigin(leavesTLS: Bool)
    }

    /// Nil if the response is not a redirect.
    package static func target(
        of response: HTTPResponse,
        to request: HTTPRequest,
        _ rules: Rules = .sameOrigin
    ) throws(HTTPRequestError) -> HTTPRequest? {
        guard [301, 302, 303, 307, 308].contains(response.status) else { return nil }
        guard let location = response.headers["Location"] else {
            if rules == .sameOrigin { return nil }
            throw HTTPRequestError(.redirectRefused, "it redirects without saying where to")
        }
        guard !location.isEmpty, let from = URL(string: request.url),
            let to = URL(string: location, relativeTo: from)?.absoluteURL
        else {
            throw HTTPRequestError(.redirectRefused, "it redirects to something that is not a URL")
        }
        var target = request
        target.url = to.absoluteString
        if let problem = target.problem { throw HTTPRequestError(.redirectRefused, "it redirects wrongly: \(problem)") }
        if origin(from) != origin(to) {
            switch rules {
            case .sameOrigin:
                // Header fields and the form may be for this origin only, and the request makes no sense without them.
                throw HTTPRequestError(
                    .redirectRefused,
                    """
                    it redirects from \(origin(from)) to \(origin(to)), which is another origin, where requests are not \
                    sent; make the final address the endpoint's URL
                    """
                )
            case .anyOrigin(let leavesTLS):
                if origin(from).scheme == "https", origin(to).scheme == "http", !leavesTLS {
                    throw HTTPRequestError(
                        .redirectRefused,
                        "it redirects from \(origin(from)) to \(origin(to)), which is not encrypted"
                    )
                }
                for name in HTTPRequest.headersOfOneOrigin { target.headers.remove(name) }
            }
        }
        if becomesGET(response.status, method: request.method, rules) {
            guard request.mayBecomeGET || request.method == "GET" else {
                throw HTTPRequestError(
                    .redirectRefused,
                    "it redirects with status \(response.status), which asks for GET in place of \(request.method)"
                )
            }
            target.method = "GET"
            target.body = nil
            target.headers.remove("Content-Type")
        }
        return target
    }

    private static func becomesGET(_ status: Int, method: String, _ rules: Rules) -> Bool {
        switch (status, rules) {
        case (303, .sameOrigin): true
        case (303, .anyOrigin): method != "HEAD"
        case (301, .anyOrigin), (302, .anyOrigin): method == "POST"
        default: false
        }
    }

    private struct Origin: Equatable, CustomStringConvertible {
        var scheme: String
        var host: String
        var port: Int

        /// The port is left out if it is the scheme's default.
        var description: String {
            let host = HostName.withBrackets(host).prefix(fittingUTF8Bytes: 255)
            return "\(scheme)://\(host)" + (port == Self.defaultPort(of: scheme) ? "" : ":\(port)")
        }

        static func defaultPort(of scheme: String) -> Int { scheme == "https" ? 443 : 80 }
    }

    private static func origin(_ url: URL) -> Origin {
        let scheme = url.scheme?.lowercased() ?? ""
        let host = HostName.withoutBrackets(url.host?.lowercased() ?? "")
        return Origin(scheme: scheme, host: host, port: url.port ?? Origin.defaultPort(of: scheme))
    }
}

extension HTTPRequest {
    /// The header fields that are never sent to another origin.
    package static let headersOfOneOrigin = ["Authorization", "Cookie", "Host", "Proxy-Authorization"]
}
