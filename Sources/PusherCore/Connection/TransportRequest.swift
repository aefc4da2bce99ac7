/// The URL to connect to, and the headers of the upgrade.
package struct TransportRequest: Hashable, Sendable {
    package var host: String
    package var port: Int
    package var useTLS: Bool
    /// With the query; starts with a slash.
    package var path: String
    /// The client offers it, and does not require it in the answer.
    package var subprotocol: String?
    package var headers: [Header]
    /// Where the server offers the HTTP transports.
    package var http: HTTPPlace

    package struct Header: Hashable, Sendable {
        package var name: String
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// - Parameter http: Where the HTTP transports are; `nil` for the address of the WebSocket.
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
