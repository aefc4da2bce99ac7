/// The URLs of a hub, derived from the app's URL. The type handles URLs as strings, because only the server knows the
/// syntax of the query.
package enum ConnectionURL {
    /// Returns the URL for the negotiation. The URL has one more path segment than the hub's URL, and the same query.
    package static func negotiation(_ base: String, resumable: Bool) -> String {
        let (path, query, _) = split(base)
        var url = path + (path.hasSuffix("/") ? "" : "/") + "negotiate"
        if let query { url += "?" + query }
        if !names(in: query).contains("negotiateVersion") { url = adding("negotiateVersion=1", to: url) }
        if resumable, !names(in: query).contains("useStatefulReconnect") {
            url = adding("useStatefulReconnect=true", to: url)
        }
        return url
    }

    /// Returns the URL for refreshing the authentication.
    package static func refresh(_ base: String) -> String {
        let (path, query, _) = split(base)
        return path + (path.hasSuffix("/") ? "" : "/") + "refresh" + (query.map { "?" + $0 } ?? "")
    }

    /// Returns the URL of a transport. If the client skipped the negotiation, the URL has no token.
    package static func transport(_ base: String, token: String?) -> String {
        guard let token else { return base }
        return adding("id=" + percentEncoded(token), to: split(base).url)
    }

    /// Returns the URL of a poll. The number in the URL prevents answers from a cache.
    package static func poll(_ transport: String, number: UInt64) -> String { adding("_=\(number)", to: transport) }

    package static func adding(_ name: String, _ value: String, to url: String) -> String {
        adding("\(name)=\(percentEncoded(value))", to: url)
    }

    private static func adding(_ parameter: String, to url: String) -> String {
        url + (url.contains("?") ? "&" : "?") + parameter
    }

    /// Splits a URL, and drops the fragment, which clients never send.
    private static func split(_ url: String) -> (path: String, query: String?, url: String) {
        let whole = url.prefix { $0 != "#" }
        let path = whole.prefix { $0 != "?" }
        guard path.endIndex < whole.endIndex else { return (String(path), nil, String(whole)) }
        return (String(path), String(whole[whole.index(after: path.endIndex)...]), String(whole))
    }

    private static func names(in query: String?) -> Set<String> {
        Set((query ?? "").split(separator: "&").map { String($0.prefix { $0 != "=" }) })
    }

    private static func percentEncoded(_ text: String) -> String {
        text.utf8.reduce(into: "") { encoded, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += digits.count == 1 ? "%0" + digits : "%" + digits
            }
        }
    }
}
