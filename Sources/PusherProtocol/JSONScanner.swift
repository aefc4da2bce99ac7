/// A scanner that reads the bytes of a JSON text and checks the grammar without building values.
///
/// The scanner is not recursive. The scanner keeps one bit for each level of nesting.
package struct JSONScanner: Sendable {
    /// The default limit of nesting, as in Foundation's decoder.
    package static let maximumDepth = 512

    package private(set) var offset = 0
    private let maximumDepth: Int

    package init(maximumDepth: Int = Self.maximumDepth) { self.maximumDepth = maximumDepth }

    /// Creates a scanner that starts at the offset.
    init(at offset: Int) {
        self.init()
        self.offset = offset
    }

    /// A string's bytes between its quotes.
    package struct StringToken: Sendable {
        package var range: Range<Int>
        package var hasEscapes: Bool
    }

    // MARK: Single bytes

    package func peek(_ bytes: Span<UInt8>) -> UInt8? {
        offset < bytes.count ? bytes[offset] : nil
    }

    package mutating func advance() { offset += 1 }

    mutating func moveTo(_ offset: Int) { self.offset = offset }

    package mutating func skipWhitespace(_ bytes: Span<UInt8>) {
        while offset < bytes.count {
            switch bytes[offset] {
            case 0x20, 0x09, 0x0A, 0x0D: offset += 1
            default: return
            }
        }
    }

    private mutating func expect(_ byte: UInt8, _ bytes: Span<UInt8>) throws(EnvelopeError) {
        guard peek(bytes) == byte else { throw .malformed(offset: offset) }
        offset += 1
    }

    /// Throws an error unless only white space is left.
    package mutating func expectEnd(_ bytes: Span<UInt8>) throws(EnvelopeError) {
        skipWhitespace(bytes)
        guard offset == bytes.count else { throw .malformed(offset: offset) }
    }

    // MARK: Objects

    /// Reads the next key of the current object, and moves to the key's value; returns nil at the object's end.
    package mutating func nextKey(_ bytes: Span<UInt8>, isFirst: inout Bool) throws(EnvelopeError) -> StringToken? {
        skipWhitespace(bytes)
        if peek(bytes) == UInt8(ascii: "}") {
            offset += 1
            return nil
        }
        if !isFirst {
            try expect(UInt8(ascii: ","), bytes)
            skipWhitespace(bytes)
        }
        isFirst = false
        return try scanKey(bytes)
    }

    private mutating func scanKey(_ bytes: Span<UInt8>) throws(EnvelopeError) -> StringToken {
        let key = try scanString(bytes)
        skipWhitespace(bytes)
        try expect(UInt8(ascii: ":"), bytes)
        skipWhitespace(bytes)
        return key
    }

    // MARK: Values

    /// Skips one value of any kind.
    package mutating func skipValue(_ bytes: Span<UInt8>) throws(EnvelopeError) {
        var nesting = Nesting()
        repeat {
            skipWhitespace(bytes)
            guard let byte = peek(bytes) else { throw .malformed(offset: offset) }
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard nesting.push(isObject: byte == UInt8(ascii: "{"), maximumDepth) else {
                    throw .tooDeep(offset: offset)
                }
                offset += 1
                skipWhitespace(bytes)
                guard peek(bytes) != nesting.closingBracket else { break }
                if nesting.isInObject { _ = try scanKey(bytes) }
                continue
            case UInt8(ascii: "\""): _ = try scanString(bytes)
            case UInt8(ascii: "t"): try skipLiteral("true", bytes)
            case UInt8(ascii: "f"): try skipLiteral("false", bytes)
            case UInt8(ascii: "n"): try skipLiteral("null", bytes)
            default: try skipNumber(bytes)
            }
            try closeValue(bytes, &nesting)
        } while !nesting.isEmpty
    }

    /// Skips the closing brackets after a value, the comma before the next value, and the key of the next value.
    private mutating func closeValue(_ bytes: Span<UInt8>, _ nesting: inout Nesting) throws(EnvelopeError) {
        while let bracket = nesting.closingBracket {
            skipWhitespace(bytes)
            if peek(bytes) == bracket {
                offset += 1
                nesting.pop()
            } else {
                try expect(UInt8(ascii: ","), bytes)
                skipWhitespace(bytes)
                if nesting.isInObject { _ = try scanKey(bytes) }
                return
            }
        }
    }

    private mutating func skipLiteral(_ literal: StaticString, _ bytes: Span<UInt8>) throws(EnvelopeError) {
        guard bytes.matches(literal, at: offset) else { throw .malformed(offset: offset) }
        offset += literal.utf8CodeUnitCount
    }

    private mutating func skipNumber(_ bytes: Span<UInt8>) throws(EnvelopeError) {
        if peek(bytes) == UInt8(ascii: "-") { offset += 1 }
        if peek(bytes) == UInt8(ascii: "0") { offset += 1 } else { try skipDigits(bytes) }
        if peek(bytes) == UInt8(ascii: ".") {
            offset += 1
            try skipDigits(bytes)
        }
        if peek(bytes) == UInt8(ascii: "e") || peek(bytes) == UInt8(ascii: "E") {
            offset += 1
            if peek(bytes) == UInt8(ascii: "+") || peek(bytes) == UInt8(ascii: "-") { offset += 1 }
            try skipDigits(bytes)
        }
    }

    private mutating func skipDigits(_ bytes: Span<UInt8>) throws(EnvelopeError) {
        let start = offset
        while let byte = peek(bytes), byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { offset += 1 }
        guard offset > start else { throw .malformed(offset: offset) }
    }

    // MARK: Strings

    /// Skips the string at the current offset, and checks its escapes.
    package mutating func scanString(_ bytes: Span<UInt8>) throws(EnvelopeError) -> StringToken {
        try expect(UInt8(ascii: "\""), bytes)
        let start = offset
        var hasEscapes = false
        var index = bytes.endOfRun(from: start)
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                offset = index + 1
                return StringToken(range: start..<index, hasEscapes: hasEscapes)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                index = bytes.endOfRun(from: index + (try escapeLength(bytes, at: index)))
            default:
                throw .malformed(offset: index)
            }
        }
        throw .malformed(offset: index)
    }

    private func escapeLength(_ bytes: Span<UInt8>, at index: Int) throws(EnvelopeError) -> Int {
        guard index + 1 < bytes.count else { throw .malformed(offset: index) }
        switch bytes[index + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return 2
        case UInt8(ascii: "u"):
            guard bytes.hexadecimalCodeUnit(at: index + 2) != nil else { throw .malformed(offset: index) }
            return 6
        default:
            throw .malformed(offset: index)
        }
    }
}

/// The open brackets, with one bit for each bracket.
private struct Nesting {
    private(set) var depth = 0
    private var bits: [UInt64] = []

    var isEmpty: Bool { depth == 0 }

    mutating func push(isObject: Bool, _ maximumDepth: Int) -> Bool {
        guard depth < maximumDepth - 1 else { return false }
        if depth / 64 == bits.count { bits.append(0) }
        let mask: UInt64 = 1 << UInt64(depth % 64)
        if isObject { bits[depth / 64] |= mask } else { bits[depth / 64] &= ~mask }
        depth += 1
        return true
    }

    mutating func pop() { depth -= 1 }

    var isInObject: Bool {
        depth > 0 && bits[(depth - 1) / 64] & (1 << UInt64((depth - 1) % 64)) != 0
    }

    var closingBracket: UInt8? {
        depth == 0 ? nil : isInObject ? UInt8(ascii: "}") : UInt8(ascii: "]")
    }
}
