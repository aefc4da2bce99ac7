import Foundation
import RealtimeNetworking
import RealtimePrimitives

/// Where a redirect leads: to another place of the same origin. A `POST` stays a `POST`, with its body: an authorization
/// asked for by `GET` is another one.
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
        // Header fields and the form may be meant for this origin alone; without them the request is another one.
        guard origin(from) == origin(to) else {
            throw HTTPRequestError(
                .redirectRefused,
                """
                it redirects from \(origin(from)) to \(origin(to)), which is another origin, where requests are not \
                sent; make the final address the endpoint's URL
                """
            )
        }
        if response.status == 303 {
            target.method = "GET"
            target.body = nil
            target.headers.remove("Content-Type")
        }
        return target
    }

    private struct Origin: Equatable, CustomStringConvertible {
        var scheme: String
        var host: String
        var port: Int

        /// The port is left out if it is the scheme's own.
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
