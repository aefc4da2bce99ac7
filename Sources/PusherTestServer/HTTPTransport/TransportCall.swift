import PusherProtocol

/// A request of an HTTP transport.
package struct TransportCall: Hashable, Sendable {
    enum Kind: String, Hashable, Sendable {
        case streaming = "xhr_streaming"
        case polling = "xhr"
        case sending = "xhr_send"
    }

    let request: PusherTestServer.Request
    let kind: Kind
    /// The path up to the application's key.
    let applicationPath: String
    /// The path up to the session's name.
    let session: String

    /// Creates a call, or returns nil if the request is not for an HTTP transport.
    package init?(_ request: PusherTestServer.Request, options: PusherTestServer.HTTPTransports) {
        guard options.isEnabled else { return nil }
        let parts = request.path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count >= 6, let kind = Kind(rawValue: String(parts[parts.count - 1])) else { return nil }
        let (server, session) = (parts[parts.count - 3], parts[parts.count - 2])
        guard parts[parts.count - 5] == "app", Self.isName(server), Self.isName(session) else { return nil }
        if let prefix = options.pathPrefix, parts.dropLast(5).joined(separator: "/") != prefix { return nil }
        self.request = request
        self.kind = kind
        self.applicationPath = parts.dropLast(3).joined(separator: "/")
        self.session = parts.dropLast().joined(separator: "/")
    }

    private static func isName(_ part: Substring) -> Bool {
        1...64 ~= part.utf8.count
            && part.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"): true
                default: false
                }
            }
    }

    /// The client's messages. Nil if the body is not a JSON array of strings.
    var messages: [String]? {
        guard let text = String(validating: request.body, as: UTF8.self),
            let elements = JSONValue(parsing: text)?.array
        else { return nil }
        let messages = elements.compactMap(\.string)
        return messages.count == elements.count ? messages : nil
    }
}
