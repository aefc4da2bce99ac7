import Foundation
public import RealtimeNetworking
import RealtimePrimitives

/// The server of a connection, and the contents of the upgrade request.
public struct WebSocketRequest: Hashable, Sendable {
    /// A host name or an IP address.
    public var host: String
    /// The port.
    public var port: Int
    /// Whether the connection is encrypted, with `wss` instead of `ws`.
    public var useTLS: Bool
    /// The path with the query. The path starts with a slash.
    public var path: String
    /// The subprotocols that the client offers, in order of preference. The server may choose none.
    public var subprotocols: [String]
    /// Additional header fields. The values of the fields may be secret, so errors never contain the values.
    public var headers: HTTPHeaderFields

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - host: A host name or an IP address.
    ///   - port: The port. Default: 443 with TLS, 80 without TLS.
    ///   - useTLS: Whether the connection is encrypted. Default: true.
    ///   - path: The path with the query. Default: `/`.
    ///   - subprotocols: The subprotocols that the client offers. Default: none.
    ///   - headers: Additional header fields. Default: none.
    public init(
        host: String,
        port: Int? = nil,
        useTLS: Bool = true,
        path: String = "/",
        subprotocols: [String] = [],
        headers: HTTPHeaderFields = [:]
    ) {
        self.host = host
        self.port = port ?? (useTLS ? 443 : 80)
        self.useTLS = useTLS
        self.path = path
        self.subprotocols = subprotocols
        self.headers = headers
    }

    /// Creates a request from a URL, for example `wss://example.com/chat?room=1`. `http` means the same as `ws`, and
    /// `https` the same as `wss`.
    ///
    /// The client does not send the fragment of the URL. A user name and a password in the URL become an
    /// `Authorization` header, unless `headers` contains this header.
    ///
    /// - Throws: An error with the code ``WebSocketError/Code/invalidURL``. The error's message does not contain the
    ///   password.
    public init(
        url: String,
        subprotocols: [String] = [],
        headers: HTTPHeaderFields = [:]
    ) throws(WebSocketError) {
        let shown = Self.printable(url).quoted
        guard let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased(),
            let host = parts.host, !host.isEmpty
        else {
            throw WebSocketError(.invalidURL, "Invalid WebSocket URL \(shown): it needs a scheme and a host.")
        }
        guard let useTLS = ["ws": false, "wss": true, "http": false, "https": true][scheme] else {
            throw WebSocketError(.invalidURL, "Invalid WebSocket URL \(shown): the scheme must be ws or wss.")
        }
        let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
        self.init(
            host: HostName.withoutBrackets(host),
            port: parts.port,
            useTLS: useTLS,
            path: path + (parts.percentEncodedQuery.map { "?\($0)" } ?? ""),
            subprotocols: subprotocols,
            headers: headers
        )
        if let user = parts.user, headers["Authorization"] == nil {
            let credentials = Data("\(user):\(parts.password ?? "")".utf8).base64EncodedString()
            self.headers["Authorization"] = "Basic \(credentials)"
        }
    }

    /// Returns the URL without user name, password, query and fragment. A password can contain the characters that
    /// separate these parts.
    private static func printable(_ url: String) -> String {
        var text = url
        if let at = text.lastIndex(of: "@") {
            let start = text.range(of: "://")?.upperBound ?? text.startIndex
            if start < at { text.removeSubrange(start...at) }
        }
        return String(text.prefix { $0 != "?" && $0 != "#" })
    }

    /// The host in the form that a resolver accepts. The property ``host`` may be an IPv6 address in brackets, as in a
    /// URL.
    package var hostWithoutBrackets: String { HostName.withoutBrackets(host) }
}

extension WebSocketRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The address without the query. Header fields and queries may be secret.
    public var description: String {
        let path = path.prefix { $0 != "?" }
        return "\(useTLS ? "wss" : "ws")://\(HostName.withBrackets(hostWithoutBrackets)):\(port)\(path)"
    }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
