package import Foundation

/// The options of the JSON encoder that this package uses unless the app passes a `JSONEncoder`.
///
/// The encoder writes the same values as a new `JSONEncoder`, several times as fast. The order of members is the order in
/// which the type encodes them, and slashes are not escaped. If a type does what the encoder can't do, or has an error,
/// `JSONEncoder` encodes the value, so `encode(to:)` of the app's type is called a second time.
package struct JSONEncodingOptions: Sendable {
    /// Returns a date as the content of a string; nil if the form has no text for the date. Without a closure, a date is
    /// the number of seconds since the beginning of 2001.
    package var dateText: (@Sendable (Date) -> String?)?

    package init(dateText: (@Sendable (Date) -> String?)? = nil) { self.dateText = dateText }

    /// Returns the JSON text of a value.
    ///
    /// - Parameter encoder: The app's encoder; nil for our own.
    /// - Throws: The error of `JSONEncoder`.
    package func encode(_ value: some Encodable, with encoder: JSONEncoder? = nil) throws -> [UInt8] {
        // `JSONEncoder` can do what rarely occurs, and it explains errors.
        try encoder.map { [UInt8](try $0.encode(value)) } ?? encodeAlone(value)
            ?? [UInt8](makeFoundationEncoder().encode(value))
    }

    /// Returns the JSON text of a value; nil if only `JSONEncoder` can encode the value, or explain its error.
    package func encodeAlone(_ value: some Encodable) -> [UInt8]? {
        let output = JSONOutput(dateText: dateText)
        return (try? output.write(value)).flatMap { output.result }
    }

    /// Returns the JSON text of a value. See ``encode(_:with:)``.
    package func text(of value: some Encodable, with encoder: JSONEncoder? = nil) throws -> String {
        String(decoding: try encode(value, with: encoder), as: UTF8.self)
    }

    private func makeFoundationEncoder() -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        guard let dateText else { return encoder }
        encoder.dateEncodingStrategy = .custom { date, encoder in
            guard let text = dateText(date) else {
                let reason = "The date is not in the years 1 to 9999."
                throw EncodingError.invalidValue(
                    date,
                    EncodingError.Context(codingPath: encoder.codingPath, debugDescription: reason)
                )
            }
            var container = encoder.singleValueContainer()
            try container.encode(text)
        }
        return encoder
    }
}
