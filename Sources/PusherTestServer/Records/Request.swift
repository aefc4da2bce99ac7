extension PusherTestServer {
    /// An HTTP request as the server received it: the one that opens a WebSocket, one to the REST API, or
    /// one to an authorization endpoint.
    public struct Request: Hashable, Sendable {
        /// One header field.
        public struct Header: Hashable, Sendable {
            /// The name, as it was sent.
            public var name: String
            /// The value.
            public var value: String

            /// Makes a header field.
            public init(name: String, value: String) {
                self.name = name
                self.value = value
            }
        }

        /// The method, in upper case.
        public var method: String
        /// The path as it was sent, without the query.
        public var path: String
        /// The query as it was sent, without its question mark; empty if there is none.
        public var query: String
        /// The header fields, in their order.
        public var headers: [Header]
        /// The body.
        public var body: [UInt8]

        /// Makes a request.
        /// - Parameters:
        ///   - method: the method. Default: `GET`.
        ///   - target: the path, with a query or without.
        ///   - headers: the header fields. Default: none.
        ///   - body: the body. Default: empty.
        public init(method: String = "GET", target: String, headers: [Header] = [], body: [UInt8] = []) {
            self.method = method.uppercased()
            let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
            self.path = parts.first.map(String.init) ?? ""
            self.query = parts.count > 1 ? String(parts[1]) : ""
            self.headers = headers
            self.body = body
        }

        /// The body as text; bytes that are not UTF-8 become U+FFFD.
        public var bodyText: String { String(decoding: body, as: UTF8.self) }

        /// The query's parameters, percent-decoded. If a parameter occurs twice, the last one counts.
        public var parameters: [String: String] { Form(query).parameters }

        /// The value of the first header field of that name, in any case.
        public func header(_ name: String) -> String? {
            headers.first(named: name)
        }

        var parameterList: [(name: String, value: String)] { Form(query).fields }
    }
}

extension [PusherTestServer.Request.Header] {
    func first(named name: String) -> String? { first { $0.name.lowercased() == name.lowercased() }?.value }
}
