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

    /// Returns the JSON text of a string.
    package static func string(_ text: String) -> String {
        var writer = JSONWriter(minimumCapacity: text.utf8.count + 2)
        writer.write(string: text)
        return writer.text
    }

    /// - Parameter members: The names, and their values as JSON text.
    package static func object(_ members: [(String, String)]) -> String {
        "{" + members.map { "\(string($0.0)):\($0.1)" }.joined(separator: ",") + "}"
    }

    /// - Parameter elements: The elements as JSON text.
    package static func array(_ elements: [String]) -> String { "[" + elements.joined(separator: ",") + "]" }

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
