extension Span<UInt8> {
    /// Returns whether exactly these bytes are at the offset.
    @inline(__always)
    func matches(_ text: StaticString, at offset: Int) -> Bool {
        let length = text.utf8CodeUnitCount
        guard offset >= 0, offset + length <= count else { return false }
        return text.withUTF8Buffer { expected in
            for index in 0..<length where self[offset + index] != expected[index] { return false }
            return true
        }
    }

    /// Returns the UTF-16 code unit with the four hexadecimal digits at the offset.
    func hexadecimalCodeUnit(at offset: Int) -> UInt16? {
        guard offset + 4 <= count else { return nil }
        var value: UInt16 = 0
        for index in offset..<offset + 4 {
            let digit: UInt8
            switch self[index] {
            case let byte where byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case let byte where byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "f"):
                digit = byte - UInt8(ascii: "a") + 10
            case let byte where byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "F"):
                digit = byte - UInt8(ascii: "A") + 10
            default: return nil
            }
            value = value << 4 | UInt16(digit)
        }
        return value
    }
}

extension String {
    /// Creates a string of the bytes in the range. Bytes that are not UTF-8 become U+FFFD.
    init(copying bytes: Span<UInt8>, _ range: Range<Int>) {
        self = bytes.extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    /// Creates a string from a token, and unescapes it.
    package init(unescaping bytes: Span<UInt8>, _ token: JSONScanner.StringToken) {
        guard token.hasEscapes else {
            self.init(copying: bytes, token.range)
            return
        }
        var scanner = JSONScanner(at: token.range.lowerBound - 1)
        // The scanner has already checked the token, so there is no error. End the range with the string, so that the
        // method reserves no memory for later bytes.
        self = (try? scanner.readString(bytes.extracting(0..<token.range.upperBound + 1))) ?? ""
    }
}

extension JSONScanner {
    /// Reads the string at the current offset. One pass over the string's bytes finds the end, and checks and decodes
    /// the escapes.
    package mutating func readString(_ bytes: Span<UInt8>) throws(EnvelopeError) -> String {
        guard peek(bytes) == UInt8(ascii: "\"") else { throw .malformed(offset: offset) }
        let start = offset + 1
        let end = bytes.endOfRun(from: start)
        guard end < bytes.count, bytes[end] != UInt8(ascii: "\"") else {
            guard end < bytes.count else { throw .malformed(offset: end) }
            moveTo(end + 1)
            return String(copying: bytes, start..<end)
        }
        var unescaping = JSONStringUnescaping()
        // An escape is never shorter than its character, so memory for the remaining bytes is enough.
        let capacity = bytes.count - start + JSONStringUnescaping.slack
        let text = bytes.withUnsafeBytes { source in
            String(unsafeUninitializedCapacity: capacity) { target in
                unescaping.unescape(source, from: start, into: UnsafeMutableRawBufferPointer(target))
                return unescaping.count
            }
        }
        if let offset = unescaping.malformedOffset { throw .malformed(offset: offset) }
        moveTo(unescaping.end + 1)
        // A string keeps its whole buffer. Copy a short string, because its buffer has the size of the rest of the
        // message.
        guard unescaping.count < capacity / 2 else { return text }
        return text.utf8.withContiguousStorageIfAvailable { String(decoding: $0, as: UTF8.self) } ?? text
    }
}
