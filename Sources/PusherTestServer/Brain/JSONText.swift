import PusherProtocol

/// Builds JSON texts, so that texts from a client or a backend are passed on unchanged.
enum JSONText {
    static func string(_ text: String) -> String {
        var writer = JSONWriter(minimumCapacity: text.utf8.count + 2)
        writer.write(string: text)
        return writer.text
    }

    /// - Parameter members: names and the JSON texts of their values.
    static func object(_ members: [(String, String)]) -> String {
        "{" + members.map { "\(string($0.0)):\($0.1)" }.joined(separator: ",") + "}"
    }

    /// - Parameter elements: JSON texts.
    static func array(_ elements: [String]) -> String { "[" + elements.joined(separator: ",") + "]" }

    /// The text without the white space around it; nil if it is not JSON, or nested too deep.
    static func checked(_ text: String) -> String? {
        let bytes = ContiguousArray(text.utf8)
        var scanner = JSONScanner(maximumDepth: JSONValue.maximumDepth)
        scanner.skipWhitespace(bytes.span)
        let start = scanner.offset
        do {
            try scanner.skipValue(bytes.span)
            let end = scanner.offset
            try scanner.expectEnd(bytes.span)
            return String(decoding: bytes[start..<end], as: UTF8.self)
        } catch {
            return nil
        }
    }
}
