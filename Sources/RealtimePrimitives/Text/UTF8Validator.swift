/// A validator for UTF-8 that arrives in pieces. The check fails at the first byte that cannot be part of UTF-8.
package struct UTF8Validator: Sendable {
    /// The number of missing continuation bytes of the current character.
    private var missing: UInt8 = 0
    /// The range of the next continuation byte. Usually, the range is 0x80 to 0xBF. After some lead bytes, the range is
    /// narrower.
    private var lowest: UInt8 = 0x80
    private var highest: UInt8 = 0xBF

    package init() {}

    /// Whether the bytes so far end with a whole character.
    package var isComplete: Bool { missing == 0 }

    /// Checks the next piece. Returns `false` if no later bytes can make the text valid.
    package mutating func consume(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        while index < bytes.count {
            if missing == 0 {
                index = Self.skipWholeCharacters(bytes, from: index)
                guard index < bytes.count else { return true }
            }
            guard consume(bytes[index]) else { return false }
            index &+= 1
        }
        return true
    }

    private mutating func consume(_ byte: UInt8) -> Bool {
        if missing > 0 {
            guard lowest <= byte, byte <= highest else { return false }
            lowest = 0x80
            highest = 0xBF
            missing &-= 1
            return true
        }
        switch byte {
        case 0x00...0x7F: break
        case 0xC2...0xDF: missing = 1
        case 0xE0...0xEF:
            missing = 2
            if byte == 0xE0 { lowest = 0xA0 }
            if byte == 0xED { highest = 0x9F }
        case 0xF0...0xF4:
            missing = 3
            if byte == 0xF0 { lowest = 0x90 }
            if byte == 0xF4 { highest = 0x8F }
        default: return false
        }
        return true
    }

    /// Checks valid characters a word at a time, and returns the end of the checked bytes. The rest may be valid or
    /// invalid.
    private static func skipWholeCharacters(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        var index = start
        let count = bytes.count
        while index &+ 16 <= count {
            let first = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let second = bytes.loadUnaligned(fromByteOffset: index &+ 8, as: UInt64.self)
            if (first | second) & 0x8080_8080_8080_8080 == 0 {
                index &+= 16
                continue
            }
            let beyondASCII = UInt64(littleEndian: first) & 0x8080_8080_8080_8080
            guard beyondASCII != 0 else {
                index &+= 8
                continue
            }
            index &+= beyondASCII.trailingZeroBitCount >> 3
            // Characters beyond ASCII usually occur in groups, so this loop checks several of them.
            repeat {
                let word = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt32.self))
                if isThreeBytes(word) {
                    index &+= 3
                } else if isTwoBytes(word) {
                    index &+= 2
                } else if isFourBytes(word) {
                    index &+= 4
                } else {
                    return index
                }
            } while index &+ 4 <= count && bytes[index] >= 0x80
        }
        return index
    }

    // Each test reads a word whose first byte is the lowest. The first mask covers the marker bits of the lead byte and
    // its continuation bytes. The next masks cover the payload bits, to find overlong forms, surrogates and values
    // beyond U+10FFFF.

    @inline(__always)
    private static func isTwoBytes(_ word: UInt32) -> Bool {
        word & 0x0000_C0E0 == 0x0000_80C0 && word & 0x1E != 0
    }

    @inline(__always)
    private static func isThreeBytes(_ word: UInt32) -> Bool {
        word & 0x00C0_C0F0 == 0x0080_80E0 && word & 0x200F != 0 && word & 0x200F != 0x200D
    }

    @inline(__always)
    private static func isFourBytes(_ word: UInt32) -> Bool {
        word & 0xC0C0_C0F8 == 0x8080_80F0 && word & 0x3007 != 0
            && (word & 0x0007 < 4 || word & 0x3007 == 4)
    }
}

extension UnsafeRawBufferPointer {
    /// Whether all the bytes together are UTF-8.
    package var isUTF8: Bool {
        var validator = UTF8Validator()
        return validator.consume(self) && validator.isComplete
    }
}
