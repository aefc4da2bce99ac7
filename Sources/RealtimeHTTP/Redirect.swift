import Foundation

/// The target of a redirect.
package enum Redirect {
    static let maximum = 5

    package enum Rules: Hashable, Sendable {
        /// Follows redirects within the origin. A redirect without a location counts as an ordinary response. After
        /// status 303, the request becomes a `GET`. After any other status, a `POST` stays a `POST` with its body,
        /// because a `GET` would be a different request.
        case sameOrigin
        /// Follows redirects to any origin. Another origin gets only the header fields that ``HTTPFields`` and the app
        /// allow, and no body. After status 301 or 302, a `POST` becomes a `GET`. After status 303, any request except
        /// a `HEAD` becomes a `GET`. A redirect without a location is an error.
        ///
        /// - Parameters:
        ///   - leavesTLS: Whether a redirect may lead from `https` to `http`.
        ///   - headers: The names of the header fields that the app allows for other origins.
        case anyOrigin(leavesTLS: Bool, headers: Set<String> = [])
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
        guard !location.isEmpty, let source = URL(string: request.url),
            let destination = URL(string: location, relativeTo: source)?.absoluteURL
        else {
            throw HTTPRequestError(.redirectRefused, "the server redirects to an invalid URL")
        }
        var target = request
        target.url = destination.absoluteString
        if let problem = target.problem {
            throw HTTPRequestError(.redirectRefused, "the server redirects to an invalid request: \(problem)")
        }
        // The check of the target's problems has rejected URLs without an origin.
        guard let from = HTTPOrigin(source), let to = HTTPOrigin(destination) else { return nil }
        if from != to {
            switch rules {
            case .sameOrigin:
                // Another origin must not get the header fields and the form, because they may be secret. Without these
                // parts, the request would make no sense.
                throw HTTPRequestError(
                    .redirectRefused,
                    """
                    the server redirects from \(from) to \(to), which is another origin. The client does not send the \
                    request there. Use the final address as the endpoint's URL
                    """
                )
            case .anyOrigin(let leavesTLS, let headers):
                if from.isEncrypted, !to.isEncrypted, !leavesTLS {
                    throw HTTPRequestError(
                        .redirectRefused,
                        "the server redirects from \(from) to \(to), which is not encrypted"
                    )
                }
                target.headers = request.headers.leavingOrigin(allowed: headers)
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
        guard from == to || target.body?.isEmpty != false else {
            throw HTTPRequestError(
                .redirectRefused,
                """
                the server redirects from \(from) to \(to), which is another origin. The client does not send the body \
                of the request there. Use the final address as the request's URL
                """
            )
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
}
