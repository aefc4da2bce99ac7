import PusherProtocol

/// A form, `application/x-www-form-urlencoded`: the body of a `POST` or the query of a URL.
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

    var parameters: [String: String] { Dictionary(fields.map { ($0.name, $0.value) }) { _, last in last } }

    subscript(name: String) -> String? { fields.last { $0.name == name }?.value }

    func values(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }
}
