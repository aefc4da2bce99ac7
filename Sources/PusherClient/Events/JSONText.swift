import Foundation

/// JSON text of values that the app passes without a type.
enum JSONText {
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

    /// Returns the value that `JSONSerialization` reads, including a single string or number; nil if the text is not
    /// JSON.
    static func value(of text: String) -> Any? {
        try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
    }
}
