/// A header field of a request or of an answer.
package struct HTTPTestField: Hashable, Sendable {
    package var name: String
    package var value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

/// A request that a test server has received.
package struct HTTPTestRequest: Hashable, Sendable {
    /// The method, as the client sent it.
    package var method: String
    /// The path and the query.
    package var target: String
    /// The header fields in the client's order.
    package var fields: [HTTPTestField]
    package var body: [UInt8]

    package init(method: String = "GET", target: String, fields: [HTTPTestField] = [], body: [UInt8] = []) {
        self.method = method
        self.target = target
        self.fields = fields
        self.body = body
    }

    /// The path, without the query.
    package var path: String { String(target.prefix { $0 != "?" }) }

    /// Returns the values of all header fields with this name, ignoring case.
    package func values(_ name: String) -> [String] { fields.values(name) }

    /// Returns the value of the first header field with this name, ignoring case.
    package func first(_ name: String) -> String? { fields.values(name).first }
}

/// The answer to a request.
package struct HTTPTestResponse: Hashable, Sendable {
    package var status: Int
    /// The header fields, without the length of the body and without `Connection`. If there is no `Content-Type`, the
    /// body is JSON if it begins with a brace, and otherwise plain text.
    package var fields: [HTTPTestField]
    package var body: [UInt8]

    package init(status: Int, fields: [HTTPTestField] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    package init(status: Int, fields: [HTTPTestField] = [], text: String) {
        self.init(status: status, fields: fields, body: Array(text.utf8))
    }

    /// Returns the answer with further header fields. Does not replace existing fields.
    package func adding(_ others: [HTTPTestField]) -> HTTPTestResponse {
        var response = self
        response.fields += others.filter { fields.values($0.name).isEmpty }
        return response
    }
}

extension [HTTPTestField] {
    fileprivate func values(_ name: String) -> [String] {
        let name = name.lowercased()
        return filter { $0.name.lowercased() == name }.map(\.value)
    }
}
