import Foundation

extension HTTPRequest {
    /// The reason why the request cannot be sent, or nil.
    package var problem: String? {
        guard let parsed = URL(string: url) else { return "'\(Self.printable(url: url))' is not a URL" }
        guard let scheme = parsed.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
            return "'\(Self.printable(url: url))' is not an http or https URL; give the whole address, like "
                + "https://example.com/path"
        }
        guard let host = parsed.host, !host.isEmpty else { return "the URL '\(Self.printable(url: url))' has no host" }
        // Brackets are for IPv6. A name in brackets would be parsed without them.
        guard host.contains(":") || !Self.authority(of: url).contains("[") else {
            return "the URL '\(Self.printable(url: url))' has a host in brackets that is not an IPv6 address"
        }
        if let port = parsed.port, !(1...65_535).contains(port) {
            return "the URL '\(Self.printable(url: url))' has a port that is not within 1 and 65535"
        }
        guard HTTPToken.isValid(method) else { return "'\(method)' is not an HTTP method" }
        return headers.problem
    }

    private static func authority(of url: String) -> Substring {
        guard let start = url.range(of: "://") else { return "" }
        return url[start.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    }

    /// A URL without parts that may be secret: user and password, query, fragment.
    package static func printable(url: String) -> String {
        var text = url.prefix { $0 != "?" && $0 != "#" }
        if let start = url.range(of: "://") {
            let authority = url[start.upperBound...].prefix { $0 != "/" }
            if let at = authority.lastIndex(of: "@") {
                // An `@` after a `?` or `#` can be part of the query, or can follow a password that is not
                // percent-encoded. The text on either side of it may be secret.
                guard at < text.endIndex else { return "\(url[..<start.upperBound])…" }
                text.removeSubrange(start.upperBound...at)
            }
        }
        return String(text.prefix(200))
    }

    /// The server's name for the text of an error.
    ///
    /// - Parameters:
    ///   - url: The last URL after redirects; nil if there were none.
    ///   - asked: The URL of the first request.
    package static func printable(url: String?, askedFor asked: String) -> String {
        let asked = printable(url: asked)
        guard let place = url.map({ printable(url: $0) }), place != asked else { return asked }
        return "\(place) (redirected from \(asked))"
    }
}
