/// The server's addresses for an attempt, and the headers to send.
package struct TransportRequest: Hashable, Sendable {
    package var host: String
    package var port: Int
    package var useTLS: Bool
    /// The path, which starts with a slash, and the query.
    package var path: String
    /// The subprotocol that the client offers. The server does not have to select it.
    package var subprotocol: String?
    package var headers: [Header]
    /// The addresses of the HTTP transports; nil if they have the WebSocket's host, port and path, and for a client that
    /// uses only WebSockets.
    private var httpPlace: Box<HTTPTransportAddress>?

    /// The addresses at which the server offers the HTTP transports.
    package var http: HTTPTransportAddress {
        get { httpPlace?.value ?? HTTPTransportAddress(host: host, port: port, target: path) }
        set { httpPlace = Box(newValue) }
    }

    package struct Header: Hashable, Sendable {
        package var name: String
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// - Parameter http: The addresses of the HTTP transports. If nil, they have the WebSocket's host, port and path.
    package init(
        host: String,
        port: Int,
        useTLS: Bool,
        path: String,
        subprotocol: String? = nil,
        headers: [Header] = [],
        http: HTTPTransportAddress? = nil
    ) {
        self.host = host
        self.port = port
        self.useTLS = useTLS
        self.path = path
        self.subprotocol = subprotocol
        self.headers = headers
        httpPlace = http.map { Box($0) }
    }
}
