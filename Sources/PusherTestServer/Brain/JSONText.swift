import PusherProtocol

/// Functions that build JSON. The functions insert JSON from a client or a backend unchanged.
enum JSONText {
    static func string(_ text: String) -> String {
        var writer = JSONWriter(minimumCapacity: text.utf8.count + 2)
        writer.write(string: text)
        return writer.text
    }

    /// - Parameter members: The names, and their values as JSON.
    static func object(_ members: [(String, String)]) -> String {
        "{" + members.map { "\(string($0.0)):\($0.1)" }.joined(separator: ",") + "}"
    }

    /// - Parameter elements: The elements as JSON.
    static func array(_ elements: [String]) -> String { "[" + elements.joined(separator: ",") + "]" }

    /// Returns JSON without surrounding white space, or nil if the JSON is invalid or nested too deeply.
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
