import PusherProtocol

/// The fields of a request: a form, `application/x-www-form-urlencoded`, in the body of a `POST` or in the query of a
/// URL, or a JSON object in the body.
struct Form: Sendable {
    let fields: [(name: String, value: String)]

    /// Parses a form. Invalid escapes stay unchanged, so parsing never fails.
    init(_ text: String) {
        fields = text.split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                .map { PercentEncoding.decode($0, isForm: true) }
            return (parts[0], parts.count > 1 ? parts[1] : "")
        }
    }

    /// Reads the fields of a request. Returns nil if the request has a body of the type `application/json` that is not a
    /// JSON object.
    init?(of request: PusherTestServer.Request) {
        guard request.method != "GET" else {
            self.init(request.query)
            return
        }
        let type = request.header("Content-Type")?.prefix { $0 != ";" && $0 != " " }
        guard type?.lowercased() == "application/json" else {
            self.init(request.bodyText)
            return
        }
        self.init(json: request.bodyText)
    }

    /// Parses a JSON object. The elements of an array are fields with the name `name[]`, as in a form. The value of an
    /// object is its JSON text. A member that is `null` is no field.
    init?(json text: String) {
        guard let members = JSONMembers(parsing: text) else { return nil }
        fields = members.names.sorted().flatMap { name -> [(name: String, value: String)] in
            guard let text = members.text(name), let value = JSONValue(parsing: text) else { return [] }
            guard let elements = value.array else { return [(name, value.string ?? text)] }
            return elements.map { ("\(name)[]", $0.string ?? $0.jsonText) }
        }
    }

    var parameters: [String: String] { Dictionary(fields.map { ($0.name, $0.value) }) { _, last in last } }

    subscript(name: String) -> String? { fields.last { $0.name == name }?.value }

    func values(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }
}
