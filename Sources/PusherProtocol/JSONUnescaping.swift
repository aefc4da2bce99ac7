extension Span<UInt8> {
    /// True where exactly these bytes stand at the offset.
    func matches(_ text: StaticString, at offset: Int) -> Bool {
        let length = text.utf8CodeUnitCount
        guard offset >= 0, offset + length <= count else { return false }
        return text.withUTF8Buffer { expected in
            for index in 0..<length where self[offset + index] != expected[index] { return false }
            return true
        }
    }

    /// The UTF-16 code unit whose four hexadecimal digits stand at the offset.
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
    /// The bytes of the range as they are; what is not UTF-8 becomes U+FFFD.
    init(copying bytes: Span<UInt8>, _ range: Range<Int>) {
        self = bytes.extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    /// The string that a token stands for.
    package init(unescaping bytes: Span<UInt8>, _ token: JSONScanner.StringToken) {
        guard token.hasEscapes else {
            self.init(copying: bytes, token.range)
            return
        }
        // An escape is never shorter than what it stands for, so the range's length is enough.
        self.init(unsafeUninitializedCapacity: token.range.count) { buffer in
            var count = 0
            var index = token.range.lowerBound
            while index < token.range.upperBound {
                let byte = bytes[index]
                if byte != UInt8(ascii: "\\") {
                    buffer[count] = byte
                    count += 1
                    index += 1
                } else if let simple = Self.byte(forEscape: bytes[index + 1]) {
                    buffer[count] = simple
                    count += 1
                    index += 2
                } else {
                    let (scalar, length) = Self.scalar(bytes, at: index, before: token.range.upperBound)
                    index += length
                    for unit in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
                        buffer[count] = unit
                        count += 1
                    }
                }
            }
            return count
        }
    }

    private static func byte(forEscape byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): byte
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: nil
        }
    }

    /// The scalar that a `\uXXXX`, or a pair of them, stands for, and the bytes it takes.
    private static func scalar(_ bytes: Span<UInt8>, at index: Int, before end: Int) -> (Unicode.Scalar, Int) {
        guard let first = bytes.hexadecimalCodeUnit(at: index + 2) else { return ("\u{FFFD}", 6) }
        if let scalar = Unicode.Scalar(first) { return (scalar, 6) }
        guard UTF16.isLeadSurrogate(first), index + 12 <= end, bytes.matches("\\u", at: index + 6),
            let second = bytes.hexadecimalCodeUnit(at: index + 8), UTF16.isTrailSurrogate(second)
        else { return ("\u{FFFD}", 6) }
        let value = 0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00)
        return (Unicode.Scalar(value) ?? "\u{FFFD}", 12)
    }
}
