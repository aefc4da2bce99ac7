import Foundation
import PusherProtocol
import RealtimeHTTP
import RealtimeNetworking
import RealtimePrimitives
import WebSocketClient

/// The package's version, for the tool.
package let packageVersion = Endpoint.version

/// The server's address and the app key.
struct Endpoint: Sendable {
    /// The client's name in the URL.
    static let clientName = "pusher-client-swift"
    /// The package's version.
    static let version = "0.1.0"
    /// The version of the protocol.
    static let protocolVersion = 7

    let key: String
    let server: PusherEndpoint
    /// Path and query.
    private let target: String

    /// - Parameter server: The server; nil means the server of the options.
    init(key: String, server: PusherEndpoint? = nil, options: PusherClientOptions) {
        let server = server ?? options.endpoint
        self.key = key
        self.server = server
        target = "\(Self.prefix(server.path))/app/\(key)?\(Self.makeQuery(options.queryItems))".withoutSpareCapacity
    }

    /// Makes the request for a connection.
    ///
    /// - Parameter options: The options with which the endpoint was made.
    /// - Throws: An error if the client cannot use the key, the server or an option.
    func request(
        options: PusherClientOptions,
        proxies: ProxyRules = .direct
    ) throws(PusherClientError) -> TransportRequest {
        try Self.check(key: key)
        try Self.check(host: server.host, port: server.port, path: server.path)
        try options.checkForConnecting()
        let http = options.transports.hasHTTP ? try makeHTTPAddress(options) : nil
        let request = TransportRequest(
            host: HostName.withoutBrackets(server.host),
            port: server.port,
            useTLS: server.useTLS,
            path: target,
            subprotocol: options.subprotocol,
            headers: options.headers.sorted { $0.key < $1.key }.map { .init(name: $0.key, value: $0.value) },
            http: http
        )
        var webSocket = WebSocketOptions()
        webSocket.tls = options.tls
        do throws(WebSocketError) {
            try WebSocketConnector(webSocket, proxies: proxies).check(WebSocketRequest(request))
        } catch {
            throw PusherClientError(error)
        }
        return request
    }

    private func makeHTTPAddress(_ options: PusherClientOptions) throws(PusherClientError) -> HTTPTransportAddress {
        let http = server.httpAddress
        try Self.check(host: http.host, port: http.port, path: http.path)
        return HTTPTransportAddress(
            host: HostName.withoutBrackets(http.host),
            port: http.port,
            path: "\(Self.prefix(http.path))/app/\(key)",
            query: Self.makeQuery(options.queryItems)
        )
    }

    var url: String {
        let host = HostName.withBrackets(HostName.withoutBrackets(server.host))
        return "\(server.useTLS ? "wss" : "ws")://\(host):\(server.port)\(target)"
    }

    /// Removes a slash at the end, because otherwise the URL would have two slashes before `app`.
    private static func prefix(_ path: String?) -> String {
        path.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 } ?? ""
    }

    /// Makes the query: the client's items, then the app's.
    private static func makeQuery(_ items: [URLQueryItem]) -> String {
        let client = "client=\(clientName)&version=\(version)&protocol=\(protocolVersion)"
        return client
            + items.map { item in
                "&\(FormEncoding.encode(item.name))" + (item.value.map { "=\(FormEncoding.encode($0))" } ?? "")
            }.joined()
    }

    // MARK: Checks

    private static func check(key: String) throws(PusherClientError) {
        guard !key.isEmpty, key.utf8.allSatisfy(\.isUnreserved) else {
            throw PusherClientError(
                .invalidKey,
                "Invalid app key \(key.quoted): use one or more letters, digits and - . _ ~."
            )
        }
    }

    private static func check(host: String, port: Int, path: String?) throws(PusherClientError) {
        if let fault = PusherHost.cluster(ofHost: host).flatMap(ClusterName.fault) {
            throw PusherClientError(.invalidHost, fault)
        }
        guard HostName.isValid(HostName.withoutBrackets(host)) else {
            // The text before an @ may be a password.
            let shown = host.contains("@") ? "" : " \(host.quoted)"
            throw PusherClientError(
                .invalidHost,
                """
                Invalid host\(shown): it is neither a host name nor an IP address. Leave scheme, path and port out.
                """
            )
        }
        guard (1...65_535).contains(port) else {
            throw PusherClientError(.invalidPort, "Invalid port \(port): it is not between 1 and 65535.")
        }
        let prefix = prefix(path)
        guard prefix.isEmpty || prefix.utf8.first == UInt8(ascii: "/"), prefix.utf8.allSatisfy(isPathByte) else {
            throw PusherClientError(
                .invalidPath,
                """
                Invalid path \((path ?? "").quoted): it must start with a slash, and have no characters that a URL must \
                escape.
                """
            )
        }
    }

    private static func isPathByte(_ byte: UInt8) -> Bool {
        byte.isUnreserved || "/%!$&'()*+,;=:@".utf8.contains(byte)
    }
}

extension String {
    /// The string in memory of its own size. A string that grew while it was built has up to twice as much memory.
    fileprivate var withoutSpareCapacity: String { String(decoding: utf8, as: UTF8.self) }
}
