import Foundation

/// A request that the server has received. Printing a request does not show its query, header fields and body, which may
/// contain tokens.
public struct TestHubRequest: Hashable, Sendable {
    /// The HTTP method.
    public var method: String
    /// The path with the query.
    public var target: String
    /// The header fields. The names are in lower case.
    public var headers: [String: String]
    /// The size of the body, in bytes.
    public var bodySize: Int
    /// The body of a request for an endpoint of the test; see ``SignalRTestServer/respond(at:_:)``. Other requests have
    /// an empty body here.
    public var body: [UInt8] = []

    /// The path, without the query.
    public var path: String { String(target.prefix { $0 != "?" }) }

    /// The parameters of the query, percent-decoded. If a parameter occurs twice, the last value counts.
    public var query: [String: String] {
        var query: [String: String] = [:]
        for pair in target.split(separator: "?", maxSplits: 1).dropFirst().first?.split(separator: "&") ?? [] {
            let halves = pair.split(separator: "=", maxSplits: 1).map { String($0).removingPercentEncoding ?? "" }
            if let name = halves.first { query[name] = halves.dropFirst().first ?? "" }
        }
        return query
    }

    /// The token in the `Authorization` field, or in the parameter `access_token`; `nil` without a token.
    public var token: String? {
        if let field = headers["authorization"], field.lowercased().hasPrefix("bearer ") {
            return String(field.dropFirst("bearer ".count))
        }
        return query["access_token"]
    }
}

/// An answer to a request for an endpoint of the test; see ``SignalRTestServer/respond(at:_:)``.
public struct TestHubResponse: Hashable, Sendable {
    /// The HTTP status, for example 200.
    public var status: Int
    /// The header fields, without the length of the body.
    public var headers: [String: String]
    /// The body.
    public var body: [UInt8]

    /// Creates an answer.
    public init(status: Int = 200, headers: [String: String] = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// Creates an answer with text, or with JSON if the text begins with a brace.
    public init(status: Int = 200, text: String) { self.init(status: status, body: Array(text.utf8)) }
}

/// A call of a hub method that failed, or a call of a client whose arguments could not be encoded.
public struct TestHubFailure: Hashable, Sendable {
    /// The id of the client's connection.
    public var connectionID: String
    /// The name of the method.
    public var method: String
    /// The reason. For an error of the method, the text is the error's description, which the caller does not get.
    public var reason: String
}

extension TestHubRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method and the path.
    public var description: String { "\(method) \(path)" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension TestHubResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The status and the size of the body.
    public var description: String { "TestHubResponse(status: \(status), body: \(body.count) bytes)" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
