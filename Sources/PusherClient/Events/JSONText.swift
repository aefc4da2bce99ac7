import Foundation

/// JSON text of values that the app passes without a type.
enum JSONText {
    /// The JSON text of anything that `JSONSerialization` takes, including a single string or number, or of an
    /// `Encodable` value; keys sorted, slashes not escaped.
    static func make(of value: Any) throws -> String {
        // In an array, because a value that is neither array nor object is refused, on some platforms with a trap.
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

    /// The value that `JSONSerialization` reads, including a single string or number; nil if the text is not JSON.
    static func value(of text: String) -> Any? {
        try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
    }
}
