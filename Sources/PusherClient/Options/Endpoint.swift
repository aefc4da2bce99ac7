import Foundation
import PusherProtocol
import RealtimeHTTP
import RealtimeNetworking
import RealtimePrimitives
import WebSocketClient

/// Where a client connects, and as what, checked.
struct Endpoint: Sendable {
    /// The client's name in the URL.
    static let clientName = "pusher-client-swift"
    /// The package's version.
    static let version = "0.1.0"
    /// The version of the protocol.
    static let protocolVersion = 7

    let key: String
    let server: PusherEndpoint
    let request: Result<TransportRequest, PusherClientError>
    /// Path and query.
    private let target: String

    /// - Parameters:
    ///   - server: The server; nil for that of the options.
    ///   - authMethod: What the options' will become; nil if it stays, as with the next one.
    init(
        key: String,
        server: PusherEndpoint? = nil,
        authMethod: AuthMethod? = nil,
        userAuthMethod: UserAuthMethod? = nil,
        options: PusherClientOptions,
        proxies: ProxyRules = .direct
    ) {
        let server = server ?? options.endpoint
        // A slash at the end would make two before "app".
        let prefix = server.path.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 } ?? ""
        let query = "client=\(Self.clientName)&version=\(Self.version)&protocol=\(Self.protocolVersion)"
        let target = "\(prefix)/app/\(key)?\(query)\(Self.query(options.queryItems))"
        let host = HostName.withoutBrackets(server.host)
        self.key = key
        self.server = server
        self.target = target
        request = Result { () throws(PusherClientError) in
            try Self.check(key: key)
            try Self.check(server, prefix: prefix)
            try options.checkForConnecting()
            let pinnedHost = PinnedHost(server, options.tls)
            try pinnedHost?.check(authMethod ?? options.authMethod, userAuthMethod ?? options.userAuthMethod)
            let request = TransportRequest(
                host: host,
                port: server.port,
                useTLS: server.useTLS,
                path: target,
                subprotocol: options.subprotocol,
                headers: options.headers.sorted { $0.key < $1.key }.map { .init(name: $0.key, value: $0.value) }
            )
            do throws(WebSocketError) {
                try WebSocketConnector(WebSocketOptions(tls: options.tls), proxies: proxies).check(
                    WebSocketRequest(request)
                )
            } catch {
                throw PusherClientError(error)
            }
            return request
        }
    }

    var url: String {
        let host = HostName.withBrackets(HostName.withoutBrackets(server.host))
        return "\(server.useTLS ? "wss" : "ws")://\(host):\(server.port)\(target)"
    }

    /// With a `&` before each.
    private static func query(_ items: [URLQueryItem]) -> String {
        items.map { item in
            "&\(FormEncoding.encode(item.name))" + (item.value.map { "=\(FormEncoding.encode($0))" } ?? "")
        }.joined()
    }

    // MARK: Checks

    private static func check(key: String) throws(PusherClientError) {
        guard !key.isEmpty, key.utf8.allSatisfy(\.isUnreserved) else {
            throw PusherClientError(
                .invalidKey,
                "the app key \(key.quoted) is not usable: it must have letters, digits, - . _ ~ only, and at least one"
            )
        }
    }

    private static func check(_ server: PusherEndpoint, prefix: String) throws(PusherClientError) {
        guard HostName.isValid(HostName.withoutBrackets(server.host)) else {
            // Before an @ there may be a password.
            let shown = server.host.contains("@") ? "" : " \(server.host.quoted)"
            throw PusherClientError(
                .invalidHost,
                """
                the host\(shown) is neither a host name nor an IP address; give it without a scheme, \
                a path and a port
                """
            )
        }
        guard (1...65_535).contains(server.port) else {
            throw PusherClientError(.invalidPort, "the port \(server.port) is not within 1 and 65535")
        }
        guard prefix.isEmpty || prefix.utf8.first == UInt8(ascii: "/"), prefix.utf8.allSatisfy(isPathByte) else {
            throw PusherClientError(
                .invalidPath,
                """
                the path \((server.path ?? "").quoted) is not usable: it must start with a slash and have nothing in it \
                that a URL's path cannot hold unescaped
                """
            )
        }
    }

    private static func isPathByte(_ byte: UInt8) -> Bool {
        byte.isUnreserved || "/%!$&'()*+,;=:@".utf8.contains(byte)
    }
}
