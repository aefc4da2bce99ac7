import PusherProtocol

/// The values that the client itself reads: they are never nested deeper than the limit, always come from valid JSON,
/// and stay the same when they are written and read again.
///
/// Input: the text.
enum JSONTarget {
    static func run(_ input: [UInt8]) {
        let text = input.text
        guard let value = JSONValue(parsing: text) else { return }
        guard case .value(let plain) = PlainJSON.parse(Array(text.utf8)) else {
            return require(false, "what is no JSON is read: \(text)")
        }
        require(plain.depth <= JSONValue.maximumDepth, "\(plain.depth) levels are read")
        require(isSame(value, plain), "\(value) is read of \(text)")
        let written = value.jsonText
        guard let again = JSONValue(parsing: written) else { return require(false, "\(written) is not read") }
        require(isSame(again, plain), "\(value) becomes \(written)")
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
            // It is not defined which of equal keys counts.
            Set(members.keys) == Set(others.map(\.key))
                && members.allSatisfy { key, value in others.contains { $0.key == key && isSame(value, $0.value) } }
        default: false
        }
    }
}
