import PusherProtocol

/// The body of a form, `application/x-www-form-urlencoded`.
struct FormBody: Sendable {
    private let fields: [(name: String, value: String)]

    /// What is no valid escape stays as it is, so that every body can be read.
    init(_ body: [UInt8]) {
        fields = String(decoding: body, as: UTF8.self).split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (PercentEncoding.decode(parts[0]), parts.count > 1 ? PercentEncoding.decode(parts[1]) : "")
        }
    }

    var parameters: [String: String] { Dictionary(fields.map { ($0.name, $0.value) }) { _, last in last } }

    subscript(name: String) -> String? { fields.last { $0.name == name }?.value }

    func values(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }
}
