import PusherProtocol

/// Checks the client's own JSON reader. The reader accepts only valid JSON within the depth limit. A value stays the
/// same when the client writes and reads it again.
///
/// Input: the text.
enum JSONTarget {
    static func run(_ input: [UInt8]) {
        let text = input.text
        guard let value = JSONValue(parsing: text) else { return }
        guard case .value(let plain) = PlainJSON.parse(Array(text.utf8)) else {
            return require(false, "the client accepts invalid JSON: \(text)")
        }
        require(plain.depth < JSONValue.maximumDepth, "the client accepts \(plain.depth) levels")
        require(isSame(value, plain), "the client reads \(value) from \(text)")
        let written = value.jsonText
        guard let again = JSONValue(parsing: written) else {
            return require(false, "the client does not read its own output \(written)")
        }
        require(isSame(again, plain), "the client writes \(value) as \(written), which has another meaning")
    }

    private static func isSame(_ value: JSONValue, _ plain: PlainJSON) -> Bool {
        switch (value, plain) {
        case (.null, .null): true
        case (.bool(let value), .bool(let other)): value == other
        case (.integer(let value), .number(let text)): Int(text) == value || Double(text) == Double(value)
        case (.number(let value), .number(let text)): Double(text) == value
        case (.string(let value), .string(let other)): value == other
        case (.array(let values), .array(let others)):
            values.count == others.count && zip(values, others).allSatisfy { isSame($0, $1) }
        case (.object(let members), .object(let others)):
            // If several members have the same key, the client may keep the value of any of them.
            Set(members.keys) == Set(others.map(\.key))
                && members.allSatisfy { key, value in others.contains { $0.key == key && isSame(value, $0.value) } }
        default: false
        }
    }
}
