/// A parser of JSON text to a ``JSONValue``, in one pass over the bytes.
///
/// With Foundation's decoder, ``JSONValue`` would have to try one type after the other. This would take ten times as
/// long, and a thousand times as long if the text is deeply nested. A long message would then block all clients on the
/// thread.
struct JSONValueParser {
    private var scanner = JSONScanner()

    /// Parses JSON text. Returns nil if the text is not JSON, or has ``JSONValue/maximumDepth`` or more levels.
    static func parse(_ text: String) -> JSONValue? {
        let bytes = ContiguousArray(text.utf8)
        var parser = JSONValueParser()
        do {
            let value = try parser.value(bytes.span, depth: 1)
            try parser.scanner.expectEnd(bytes.span)
            return value
        } catch {
            return nil
        }
    }

    /// Parses one value. The method is recursive, and ``JSONValue/maximumDepth`` limits the recursion.
    private mutating func value(_ bytes: Span<UInt8>, depth: Int) throws(EnvelopeError) -> JSONValue {
        scanner.skipWhitespace(bytes)
        switch scanner.peek(bytes) {
        case UInt8(ascii: "{")?: return try object(bytes, depth: depth)
        case UInt8(ascii: "[")?: return try array(bytes, depth: depth)
        case UInt8(ascii: "\"")?: return .string(try string(bytes))
        case UInt8(ascii: "t")?, UInt8(ascii: "f")?, UInt8(ascii: "n")?: return try literal(bytes)
        default: return try number(bytes)
        }
    }

    /// Parses an object. If a key appears twice, the last one counts, as in JavaScript.
    private mutating func object(_ bytes: Span<UInt8>, depth: Int) throws(EnvelopeError) -> JSONValue {
        try checkDepth(depth)
        scanner.advance()
        var members = WireTable<JSONValue>()
        var isFirst = true
        while let key = try scanner.nextKey(bytes, isFirst: &isFirst) {
            members[String(unescaping: bytes, key)] = try value(bytes, depth: depth + 1)
        }
        return .object(members)
    }

    private mutating func array(_ bytes: Span<UInt8>, depth: Int) throws(EnvelopeError) -> JSONValue {
        try checkDepth(depth)
        scanner.advance()
        var elements: [JSONValue] = []
        scanner.skipWhitespace(bytes)
        if scanner.peek(bytes) == UInt8(ascii: "]") {
            scanner.advance()
            return .array([])
        }
        while true {
            elements.append(try value(bytes, depth: depth + 1))
            scanner.skipWhitespace(bytes)
            let byte = scanner.peek(bytes)
            guard byte == UInt8(ascii: ",") || byte == UInt8(ascii: "]") else {
                throw .malformed(offset: scanner.offset)
            }
            scanner.advance()
            if byte == UInt8(ascii: "]") { return .array(elements) }
        }
    }

    /// Checks the depth, which counts as in ``JSONScanner/skipValue(_:)``.
    private func checkDepth(_ depth: Int) throws(EnvelopeError) {
        guard depth < JSONValue.maximumDepth else { throw .tooDeep(offset: scanner.offset) }
    }

    private mutating func string(_ bytes: Span<UInt8>) throws(EnvelopeError) -> String {
        String(unescaping: bytes, try scanner.scanString(bytes))
    }

    private mutating func literal(_ bytes: Span<UInt8>) throws(EnvelopeError) -> JSONValue {
        let value: JSONValue
        switch scanner.peek(bytes) {
        case UInt8(ascii: "t")?: value = .bool(true)
        case UInt8(ascii: "f")?: value = .bool(false)
        default: value = .null
        }
        try scanner.skipValue(bytes)
        return value
    }

    private mutating func number(_ bytes: Span<UInt8>) throws(EnvelopeError) -> JSONValue {
        let start = scanner.offset
        try scanner.skipValue(bytes)
        let text = String(copying: bytes, start..<scanner.offset)
        // A number like 120.0 is a whole number too. The check of the digits works for large numbers, unlike a
        // conversion to `Double`.
        let isPlain = !text.utf8.contains { $0 == UInt8(ascii: "e") || $0 == UInt8(ascii: "E") }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        if isPlain, parts.dropFirst().allSatisfy({ $0.utf8.allSatisfy { $0 == UInt8(ascii: "0") } }),
            let integer = Int(parts[0])
        {
            return .integer(integer)
        }
        guard let number = Double(text), number.isFinite else { throw .malformed(offset: start) }
        guard !isPlain, let integer = Int(exactly: number), integer.magnitude <= 1 << 53 else {
            return .number(number)
        }
        return .integer(integer)
    }
}
