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

    package struct Header: Hashable, Sendable {
        package var name: String
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    package init(
        host: String,
        port: Int,
        useTLS: Bool,
        path: String,
        subprotocol: String? = nil,
        headers: [Header] = []
    ) {
        self.host = host
        self.port = port
        self.useTLS = useTLS
        self.path = path
        self.subprotocol = subprotocol
        self.headers = headers
    }
}
