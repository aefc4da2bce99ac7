public import RealtimeNetworking

extension PusherTestServer {
    /// An HTTP request as the server received it. The request is an upgrade, or is for an HTTP transport, the REST API
    /// or an authorization endpoint.
    ///
    /// Printing a request does not show its query, header fields and body, which contain signatures and tokens.
    public struct Request: Hashable, Sendable {
        /// The method, in upper case.
        public var method: String
        /// The path as the client sent it, without the query.
        public var path: String
        /// The query as the client sent it, without the question mark. Empty without a query.
        public var query: String
        /// The header fields in the client's order.
        public var headers: HTTPHeaderFields
        /// The body.
        public var body: [UInt8]

        /// Creates a request.
        /// - Parameters:
        ///   - method: The method. Default: `GET`.
        ///   - target: The path, with or without a query.
        ///   - headers: The header fields. Default: none.
        ///   - body: The body. Default: empty.
        public init(method: String = "GET", target: String, headers: HTTPHeaderFields = [:], body: [UInt8] = []) {
            self.method = method.uppercased()
            let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
            self.path = parts.first.map(String.init) ?? ""
            self.query = parts.count > 1 ? String(parts[1]) : ""
            self.headers = headers
            self.body = body
        }

        /// The body as text. Bytes that are not UTF-8 become U+FFFD.
        public var bodyText: String { String(decoding: body, as: UTF8.self) }

        /// The query's parameters, percent-decoded. If a parameter occurs twice, the last value counts.
        public var parameters: [String: String] { Form(query).parameters }

        /// Returns the value of the first header field with this name, ignoring case.
        public func header(_ name: String) -> String? {
            headers.first(named: name)
        }

        var parameterList: [(name: String, value: String)] { Form(query).fields }
    }
}

extension HTTPHeaderFields {
    func first(named name: String) -> String? { first { $0.name.lowercased() == name.lowercased() }?.value }
}

extension PusherTestServer.Request: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method and the path.
    public var description: String { "\(method) \(path)" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
