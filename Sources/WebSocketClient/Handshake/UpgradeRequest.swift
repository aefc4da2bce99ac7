import NIOWebSocket
import RealtimeNetworking

/// The HTTP request that asks a server to switch to WebSocket (RFC 6455, section 4.1).
package struct UpgradeRequest: Sendable {
    /// The bytes of the request as text.
    package let text: String
    /// The `Sec-WebSocket-Key` of the request.
    package let key: String
    package let subprotocols: [String]
    /// Whether the request offers compression.
    package let offersCompression: Bool

    /// Creates the request. The initializer rejects values that a request line or a header line cannot contain
    /// unescaped.
    ///
    /// - Parameter extensions: The value of the header field `Sec-WebSocket-Extensions`. Default: none.
    package init(
        _ request: WebSocketRequest,
        extensions: String? = nil,
        key: String = NIOWebSocketClientUpgrader.randomRequestKey()
    ) throws(WebSocketError) {
        guard request.path.utf8.first == UInt8(ascii: "/"), request.path.utf8.allSatisfy(\.isVisibleASCII) else {
            throw WebSocketError(
                .invalidPath,
                """
                Invalid path '\(request.path)': it must begin with a slash and contain only visible ASCII characters. \
                Percent-encode other characters.
                """
            )
        }
        self.key = key
        self.subprotocols = request.subprotocols
        self.offersCompression = extensions != nil

        var lines = ["GET \(request.path) HTTP/1.1"]
        if request.headers["Host"] == nil {
            lines.append("Host: \(try Self.hostHeader(request))")
        }
        lines += [
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: \(key)",
        ]
        for subprotocol in request.subprotocols where !Self.isToken(subprotocol) {
            throw WebSocketError(
                .invalidOption,
                """
                Invalid subprotocol \(String(reflecting: subprotocol)): it is not an HTTP token. Use letters, digits \
                and hyphens.
                """
            )
        }
        if !request.subprotocols.isEmpty {
            lines.append("Sec-WebSocket-Protocol: \(request.subprotocols.joined(separator: ", "))")
        }
        if let extensions { lines.append("Sec-WebSocket-Extensions: \(extensions)") }
        for header in request.headers {
            guard !Self.ownHeaders.contains(header.name.lowercased()) else {
                throw WebSocketError(
                    .invalidOption,
                    "Invalid header \(String(reflecting: header.name)): the client sets this header itself. Remove it."
                )
            }
            lines.append(try Self.line(header))
        }
        self.text = lines.joined(separator: "\r\n") + "\r\n\r\n"
    }

    private static let ownHeaders: Set<String> = [
        "connection", "upgrade", "content-length", "transfer-encoding", "sec-websocket-version", "sec-websocket-key",
        "sec-websocket-protocol", "sec-websocket-extensions",
    ]

    private static func hostHeader(_ request: WebSocketRequest) throws(WebSocketError) -> String {
        let host = request.hostWithoutBrackets
        guard !host.isEmpty, host.utf8.allSatisfy({ $0.isVisibleASCII && $0 != UInt8(ascii: "/") }) else {
            throw WebSocketError(
                .invalidHost,
                "Invalid host '\(request.host)': it is neither a host name nor an IP address."
            )
        }
        let name = HostName.withBrackets(host)
        return request.port == (request.useTLS ? 443 : 80) ? name : "\(name):\(request.port)"
    }

    private static func line(_ header: HTTPHeader) throws(WebSocketError) -> String {
        let isValueValid = header.value.utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }
        guard isToken(header.name), isValueValid else {
            // The error does not contain the header's value, which may be secret.
            throw WebSocketError(
                .invalidOption,
                "Invalid header \(String(reflecting: header.name)): HTTP does not allow its name or value."
            )
        }
        return "\(header.name): \(header.value)"
    }

    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0.isVisibleASCII && !separators.contains($0) }
    }

    private static let separators = Set(#"()<>@,;:\"/[]?={}"#.utf8)
}

extension UInt8 {
    /// Whether the byte is a printable ASCII character other than the space.
    fileprivate var isVisibleASCII: Bool { self > 0x20 && self < 0x7F }
}
