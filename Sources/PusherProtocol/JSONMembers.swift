/// The members of a JSON object, with their values as JSON text.
package struct JSONMembers: Sendable {
    private var texts = WireTable<String>()

    /// Parses JSON text. Returns nil if the text is not a JSON object, or is nested too deeply. If a key appears twice,
    /// the last one counts.
    package init?(parsing text: String) {
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

    /// The names of the members, in no order.
    package var names: some Collection<String> { texts.keys }

    /// The JSON text of a value.
    package subscript(key: String) -> String? { texts[key] }

    package func value(_ key: String) -> JSONValue? { texts[key].flatMap { JSONValue(parsing: $0) } }

    /// Returns the JSON text of a value; nil if the value is `null`.
    package func text(_ key: String) -> String? { texts[key].flatMap { $0 == "null" ? nil : $0 } }
}
