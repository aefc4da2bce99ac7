import Foundation

extension HTTPRequest {
    /// The reason why the request cannot be sent; nil if the request is valid.
    package var problem: String? {
        guard let parsed = URL(string: url) else { return "'\(Self.printable(url: url))' is not a URL" }
        guard let scheme = parsed.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
            return "'\(Self.printable(url: url))' is not an http or https URL; give the whole address, like "
                + "https://example.com/path"
        }
        guard let host = parsed.host, !host.isEmpty else { return "the URL '\(Self.printable(url: url))' has no host" }
        // Only an IPv6 address may have brackets. The parser would silently drop brackets around a name.
        if url.utf8.contains(UInt8(ascii: "[")), !host.contains(":"), Self.authority(of: url).contains("[") {
            return "the URL '\(Self.printable(url: url))' has a host in brackets that is not an IPv6 address"
        }
        if let port = parsed.port, !(1...65_535).contains(port) {
            return "the URL '\(Self.printable(url: url))' has a port that is not between 1 and 65535"
        }
        guard HTTPToken.isValid(method) else { return "'\(method)' is not an HTTP method" }
        return headers.problem
    }

    /// Throws an error of the kind `invalidRequest` if the request has a ``problem``.
    package func validate() throws(HTTPRequestError) {
        if let problem { throw HTTPRequestError(.invalidRequest, problem) }
    }

    private static func authority(of url: String) -> Substring {
        guard let start = url.range(of: "://") else { return "" }
        return url[start.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    }

    /// Returns a URL without the parts that may be secret: user, password, query and fragment.
    package static func printable(url: String) -> String {
        var text = url.prefix { $0 != "?" && $0 != "#" }
        let start = url.range(of: "://")?.upperBound ?? url.startIndex
        // Without a scheme, it is not clear where the password ends.
        let authority = start == url.startIndex ? url[...] : url[start...].prefix { $0 != "/" }
        if let at = authority.lastIndex(of: "@") {
            // An `@` after a `?` or `#` can be part of the query, or can follow a password that is not percent-encoded.
            // So the text on both sides of the `@` may be secret.
            guard at < text.endIndex else { return "\(url[..<start])…" }
            text.removeSubrange(start...at)
        }
        return String(text.prefix(200))
    }

    /// Returns the server's URL for an error message, without secrets.
    ///
    /// - Parameters:
    ///   - url: The last URL after redirects; nil if there were no redirects.
    ///   - asked: The URL of the first request.
    package static func printable(url: String?, askedFor asked: String) -> String {
        let asked = printable(url: asked)
        guard let place = url.map({ printable(url: $0) }), place != asked else { return asked }
        return "\(place) (redirected from \(asked))"
    }
}
