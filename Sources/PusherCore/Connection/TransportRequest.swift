/// The URL to connect to, and the headers of the upgrade.
package struct TransportRequest: Hashable, Sendable {
    package var host: String
    package var port: Int
    package var useTLS: Bool
    /// With the query; starts with a slash.
    package var path: String
    /// Offered, never required of the answer.
    package var subprotocol: String?
    package var headers: [Header]
    /// Where the same is to be had over HTTP.
    package var http: HTTPPlace

    package struct Header: Hashable, Sendable {
        package var name: String
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// - Parameter http: Where the HTTP transports are; `nil` for where the WebSocket is.
    package init(
        host: String,
        port: Int,
        useTLS: Bool,
        path: String,
        subprotocol: String? = nil,
        headers: [Header] = [],
        http: HTTPPlace? = nil
    ) {
        self.host = host
        self.port = port
        self.useTLS = useTLS
        self.path = path
        self.subprotocol = subprotocol
        self.headers = headers
        self.http = http ?? HTTPPlace(host: host, port: port, target: path)
    }
}
