/// Checks UTF-8 that comes in pieces, and says no at the first byte that cannot be part of it.
package struct UTF8Validator: Sendable {
    /// How many continuation bytes the character begun still lacks.
    private var missing: UInt8 = 0
    /// What the next continuation byte may be; narrower than 0x80 to 0xBF only after some lead bytes.
    private var lowest: UInt8 = 0x80
    private var highest: UInt8 = 0xBF

    package init() {}

    /// Whether everything so far ends at a character's end.
    package var isComplete: Bool { missing == 0 }

    /// Goes on with the next piece; false where the text is not UTF-8, whatever may follow.
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

    /// Where the characters end that can be checked a word at a time. What follows may be right or wrong.
    private static func skipWholeCharacters(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        var index = start
        let count = bytes.count
        while true {
            while index &+ 8 <= count,
                bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
            {
                index &+= 8
            }
            while index < count, bytes[index] < 0x80 { index &+= 1 }
            guard index &+ 4 <= count else { return index }
            let word = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt32.self))
            let length = Self.length(ofCharacterIn: word)
            guard length > 0 else { return index }
            index &+= length
        }
    }

    /// How many of the word's bytes (the first is the lowest) are a character beyond ASCII; 0 for none.
    @inline(__always)
    private static func length(ofCharacterIn word: UInt32) -> Int {
        // Each test masks the marker bits of a lead byte and its continuation bytes, then the payload bits that tell
        // an overlong form, a surrogate or a value beyond U+10FFFF.
        if word & 0x00C0_C0F0 == 0x0080_80E0 {
            let leading = word & 0x200F
            return leading != 0 && leading != 0x200D ? 3 : 0
        }
        if word & 0x0000_C0E0 == 0x0000_80C0 {
            return word & 0x1E != 0 ? 2 : 0
        }
        if word & 0xC0C0_C0F8 == 0x8080_80F0 {
            let leading = word & 0x3007
            return leading != 0 && (leading & 0x0007 < 4 || leading == 4) ? 4 : 0
        }
        return 0
    }
}
