import Foundation
import RealtimeJSON

/// JSON text of values that the app passes without a type.
enum UntypedJSON {
    /// Returns the JSON text of an `Encodable` value, or of any value that `JSONSerialization` accepts, including a
    /// single string or number. The method sorts keys, and does not escape slashes.
    static func make(of value: Any) throws -> String {
        // Put the value into an array, because `JSONSerialization` accepts only arrays and objects. On some platforms,
        // any other value causes a trap.
        guard JSONSerialization.isValidJSONObject([value]) else {
            guard let value = value as? any Encodable else { throw CocoaError(.propertyListWriteInvalid) }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(value), as: UTF8.self)
        }
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
        let bytes = try JSONSerialization.data(withJSONObject: [value], options: options)
        return String(decoding: bytes.dropFirst().dropLast(), as: UTF8.self)
    }

    /// The method that makes values is recursive, and some threads have a small stack.
    private static let maximumDepth = 128

    /// Returns the value that `JSONSerialization` would read, including a single string or number; nil if the text is not
    /// JSON, is nested too deeply, or has a number that is too large.
    static func value(of text: String) -> Any? {
        try? JSONNode.read(text, maximumDepth: maximumDepth, value)
    }

    private struct NumberTooLarge: Error {}

    private static func value(of node: JSONNode) throws(NumberTooLarge) -> Any {
        switch node.kind {
        case .null: return NSNull()
        case .bool: return NSNumber(value: node.bool == true)
        case .number: return try number(node.number ?? "")
        case .string: return node.string ?? ""
        case .array:
            var elements: [Any] = []
            for element in node.elements { elements.append(try value(of: element)) }
            return elements
        case .object:
            // If a key appears twice, the last one counts.
            var members: [String: Any] = [:]
            for (name, member) in node.members { members[name] = try value(of: member) }
            return members
        }
    }

    private static func number(_ text: String) throws(NumberTooLarge) -> NSNumber {
        if let integer = Int(text) { return NSNumber(value: integer) }
        if let integer = UInt(text) { return NSNumber(value: integer) }
        guard let double = Double(text), double.isFinite else { throw NumberTooLarge() }
        // A double has at most 17 digits.
        let digitCount = text.utf8.prefix { $0 | 0x20 != UInt8(ascii: "e") }.count { $0 >= UInt8(ascii: "0") }
        guard digitCount > 17, let decimal = Decimal(string: text), !decimal.isNaN else {
            return NSNumber(value: double)
        }
        return NSDecimalNumber(decimal: decimal)
    }
}
