import Foundation
import RealtimeNetworking
import RealtimePrimitives

/// The target of a redirect.
package enum Redirect {
    static let maximum = 5

    package enum Rules: Hashable, Sendable {
        /// Follows redirects within the origin. A redirect without a location counts as an ordinary response. After
        /// status 303, the request becomes a `GET`. After any other status, a `POST` stays a `POST` with its body,
        /// because a `GET` would be a different request.
        case sameOrigin
        /// Follows redirects to any origin, as browsers do. Another origin does not get the header fields in
        /// ``HTTPRequest/headersOfOneOrigin``. After status 301 or 302, a `POST` becomes a `GET`. After status 303, any
        /// request except a `HEAD` becomes a `GET`. A redirect without a location is an error.
        ///
        /// - Parameter leavesTLS: Whether a redirect may lead from `https` to `http`.
        case anyOrigin(leavesTLS: Bool)
    }

    /// Returns the target, or nil if the response is not a redirect.
    package static func target(
        of response: HTTPResponse,
        to request: HTTPRequest,
        _ rules: Rules = .sameOrigin
    ) throws(HTTPRequestError) -> HTTPRequest? {
        guard [301, 302, 303, 307, 308].contains(response.status) else { return nil }
        guard let location = response.headers["Location"] else {
            if rules == .sameOrigin { return nil }
            throw HTTPRequestError(.redirectRefused, "the server redirects without a Location")
        }
        guard !location.isEmpty, let from = URL(string: request.url),
            let to = URL(string: location, relativeTo: from)?.absoluteURL
        else {
            throw HTTPRequestError(.redirectRefused, "the server redirects to an invalid URL")
        }
        var target = request
        target.url = to.absoluteString
        if let problem = target.problem {
            throw HTTPRequestError(.redirectRefused, "the server redirects to an invalid request: \(problem)")
        }
        if origin(from) != origin(to) {
            switch rules {
            case .sameOrigin:
                // Another origin must not get the header fields and the form, because they may be secret. Without these
                // parts, the request would make no sense.
                throw HTTPRequestError(
                    .redirectRefused,
                    """
                    the server redirects from \(origin(from)) to \(origin(to)), which is another origin. The client \
                    does not send the request there. Use the final address as the endpoint's URL
                    """
                )
            case .anyOrigin(let leavesTLS):
                if origin(from).scheme == "https", origin(to).scheme == "http", !leavesTLS {
                    throw HTTPRequestError(
                        .redirectRefused,
                        "the server redirects from \(origin(from)) to \(origin(to)), which is not encrypted"
                    )
                }
                for name in HTTPRequest.headersOfOneOrigin { target.headers.remove(name) }
            }
        }
        if becomesGET(response.status, method: request.method, rules) {
            guard request.mayBecomeGET || request.method == "GET" else {
                throw HTTPRequestError(
                    .redirectRefused,
                    """
                    the server redirects with status \(response.status), which changes the method from \
                    \(request.method) to GET
                    """
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

        /// The origin as text, without the default port of the scheme.
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
    /// The header fields that the client never sends to another origin.
    package static let headersOfOneOrigin = ["Authorization", "Cookie", "Host", "Proxy-Authorization"]
}
