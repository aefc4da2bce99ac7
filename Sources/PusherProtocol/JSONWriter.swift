/// A writer that appends JSON to a string.
package struct JSONWriter {
    package private(set) var text = ""

    package init(minimumCapacity: Int = 128) { text.reserveCapacity(minimumCapacity) }

    /// Writes punctuation, or JSON text that is known to be valid.
    package mutating func write(raw: some StringProtocol) { text += raw }

    /// Writes a string with its quotes. All characters except quotes, backslashes and control characters stay
    /// unchanged.
    package mutating func write(string: String) {
        text += "\""
        if string.utf8.contains(where: Self.needsEscape) {
            for scalar in string.unicodeScalars { write(escaping: scalar) }
        } else {
            text += string
        }
        text += "\""
    }

    package mutating func write(_ value: JSONValue) {
        switch value {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .number(let value): text += value.isFinite ? String(value) : "null"
        case .string(let value): write(string: value)
        case .array(let elements):
            writeList(elements, in: ("[", "]")) { writer, element in writer.write(element) }
        case .object(let members):
            writeList(members.sorted { $0.key < $1.key }, in: ("{", "}")) { writer, member in
                writer.write(string: member.key)
                writer.text += ":"
                writer.write(member.value)
            }
        }
    }

    private mutating func writeList<Element>(
        _ elements: [Element],
        in brackets: (String, String),
        write: (inout JSONWriter, Element) -> Void
    ) {
        text += brackets.0
        for (index, element) in elements.enumerated() {
            if index > 0 { text += "," }
            write(&self, element)
        }
        text += brackets.1
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func write(escaping scalar: Unicode.Scalar) {
        switch scalar {
        case "\"": text += "\\\""
        case "\\": text += "\\\\"
        case "\n": text += "\\n"
        case "\r": text += "\\r"
        case "\t": text += "\\t"
        case ..<" ":
            let digits = String(scalar.value, radix: 16)
            text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        default: text.unicodeScalars.append(scalar)
        }
    }
}
