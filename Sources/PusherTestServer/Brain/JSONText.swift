import PusherProtocol

/// Puts JSON texts together, so that what a client or a backend has written is passed on as it is.
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

    /// The text without the white space around it; nil where it is not JSON, or nested too deep.
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

/// The members of a JSON object, their values as they were written.
struct JSONMembers: Sendable {
    private var texts: [String: String] = [:]

    /// Nil where the text is no JSON object, or nested too deep. Of a key that stands twice, the last one counts.
    init?(parsing text: String) {
        let bytes = ContiguousArray(text.utf8)
        var scanner = JSONScanner(maximumDepth: JSONValue.maximumDepth)
        scanner.skipWhitespace(bytes.span)
        guard scanner.peek(bytes.span) == UInt8(ascii: "{") else { return nil }
        scanner.advance()
        var isFirst = true
        do {
            while let key = try scanner.nextKey(bytes.span, isFirst: &isFirst) {
                let start = scanner.offset
                try scanner.skipValue(bytes.span)
                let name = String(decoding: bytes[key.range], as: UTF8.self)
                let unescaped = key.hasEscapes ? JSONValue(parsing: "\"\(name)\"")?.string : name
                texts[unescaped ?? name] = String(decoding: bytes[start..<scanner.offset], as: UTF8.self)
            }
            try scanner.expectEnd(bytes.span)
        } catch {
            return nil
        }
    }

    /// The JSON text of a value.
    subscript(key: String) -> String? { texts[key] }

    func value(_ key: String) -> JSONValue? { texts[key].flatMap { JSONValue(parsing: $0) } }

    /// The JSON text of a value that is not `null`.
    func text(_ key: String) -> String? { texts[key].flatMap { $0 == "null" ? nil : $0 } }
}
