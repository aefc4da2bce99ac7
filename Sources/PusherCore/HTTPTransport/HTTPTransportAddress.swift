/// The addresses at which the server offers the HTTP transports.
package struct HTTPTransportAddress: Hashable, Sendable {
    package var host: String
    package var port: Int
    /// The path, including the prefix and `/app/KEY`.
    package var path: String
    /// The query of receiving requests.
    package var query: String

    package init(host: String, port: Int, path: String, query: String) {
        self.host = host
        self.port = port
        self.path = path
        self.query = query
    }

    /// - Parameter target: The path and the query.
    init(host: String, port: Int, target: String) {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        self.init(host: host, port: port, path: String(parts[0]), query: parts.count > 1 ? String(parts[1]) : "")
    }
}

/// The address of one request.
package struct HTTPTarget: Hashable, Sendable {
    /// The host that the server has named for the session; `nil` for the host of the ``HTTPTransportAddress``.
    package var hostname: String?
    /// The path and the query.
    package var path: String

    package init(hostname: String? = nil, path: String) {
        self.hostname = hostname
        self.path = path
    }
}

/// The client's name for a session, for example `123/8fa02kds`. The paths of the session's requests contain the name.
package struct HTTPSessionName: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(using generator: inout some RandomNumberGenerator) {
        let letters = Array("0123456789abcdefghijklmnopqrstuv")
        let server = Int.random(in: 0..<1_000, using: &generator)
        let name = String((0..<8).map { _ in letters[Int.random(in: 0..<letters.count, using: &generator)] })
        description = "\(server)/\(name)"
    }
}
