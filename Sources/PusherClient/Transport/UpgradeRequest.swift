import NIOWebSocket

/// The HTTP request that asks a server to go over to WebSocket (RFC 6455, section 4.1).
package struct UpgradeRequest: Sendable {
    /// The request as it goes over the wire.
    package let text: String
    /// Its `Sec-WebSocket-Key`.
    package let key: String
    /// The subprotocol offered.
    package let subprotocol: String?

    /// Refuses whatever could not stand in a request line or in a header line as it is.
    package init(
        _ request: TransportRequest,
        key: String = NIOWebSocketClientUpgrader.randomRequestKey()
    ) throws(PusherClientError) {
        guard request.path.utf8.first == UInt8(ascii: "/"), request.path.utf8.allSatisfy(\.isVisibleASCII) else {
            throw PusherClientError(.invalidPath, "the path '\(request.path)' cannot stand in an HTTP request")
        }
        self.key = key
        self.subprotocol = request.subprotocol

        var lines = ["GET \(request.path) HTTP/1.1"]
        if !request.headers.contains(where: { $0.name.lowercased() == "host" }) {
            lines.append("Host: \(try Self.hostHeader(request))")
        }
        lines += [
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: \(key)",
        ]
        if let subprotocol = request.subprotocol {
            guard Self.isToken(subprotocol) else {
                throw PusherClientError(
                    .invalidOption,
                    "the subprotocol \(String(reflecting: subprotocol)) is not an HTTP token"
                )
            }
            lines.append("Sec-WebSocket-Protocol: \(subprotocol)")
        }
        for header in request.headers {
            guard !Self.ownHeaders.contains(header.name.lowercased()) else {
                throw PusherClientError(
                    .invalidOption,
                    "the header \(String(reflecting: header.name)) is set by the client itself"
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

    private static func hostHeader(_ request: TransportRequest) throws(PusherClientError) -> String {
        let host = request.hostWithoutBrackets
        guard !host.isEmpty, host.utf8.allSatisfy({ $0.isVisibleASCII && $0 != UInt8(ascii: "/") }) else {
            throw PusherClientError(.invalidHost, "'\(request.host)' is no host name or IP address")
        }
        let name = HostName.withBrackets(host)
        return request.port == (request.useTLS ? 443 : 80) ? name : "\(name):\(request.port)"
    }

    private static func line(_ header: TransportRequest.Header) throws(PusherClientError) -> String {
        let isValueValid = header.value.utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }
        guard isToken(header.name), isValueValid else {
            // The value may be a secret.
            throw PusherClientError(
                .invalidOption,
                "the header \(String(reflecting: header.name)) has a name or a value that HTTP cannot carry"
            )
        }
        return "\(header.name): \(header.value)"
    }

    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0.isVisibleASCII && !separators.contains($0) }
    }

    private static let separators = Set(#"()<>@,;:\"/[]?={}"#.utf8)
}

extension TransportRequest {
    /// The host as a resolver takes it; an IPv6 address may have been written as in a URL.
    package var hostWithoutBrackets: String { HostName.withoutBrackets(host) }
}

extension UInt8 {
    /// Whether it is a printable ASCII character other than the space.
    fileprivate var isVisibleASCII: Bool { self > 0x20 && self < 0x7F }
}
