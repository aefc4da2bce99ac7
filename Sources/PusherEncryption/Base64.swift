/// Base64 with the standard alphabet and padding (RFC 4648, section 4). The decoder accepts no other characters.
///
/// Foundation's decoder takes as long as libsodium's decryption, and accepts too much padding and characters after it.
/// `sodium_base642bin` takes ten times as long as the decryption, for 10 kB.
package enum Base64 {
    /// Returns the size of the memory that ``decode(_:into:)`` needs. The decoded data is a little shorter.
    package static func capacity(forCharacters count: Int) -> Int { count / 4 * 3 + 4 }

    /// Decodes the text into the memory.
    ///
    /// - Returns: The number of bytes; nil if the text is not base64, or the memory is too small.
    package static func decode(_ text: Span<UInt8>, into memory: UnsafeMutableRawBufferPointer) -> Int? {
        guard text.count.isMultiple(of: 4), memory.count >= capacity(forCharacters: text.count) else { return nil }
        let count = text.count - paddingCount(of: text)
        var index = 0
        var written = 0
        while index &+ 16 <= count {
            let characters = text.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: SIMD16<UInt8>.self)
            guard let bytes = Twelve(characters) else { return nil }
            bytes.store(to: memory, at: written)
            index &+= 16
            written &+= 12
        }
        if index < count {
            var characters = SIMD16(repeating: UInt8(ascii: "A"))
            for place in 0..<count - index { characters[place] = text[index + place] }
            guard let bytes = Twelve(characters) else { return nil }
            let fresh = (count - index) * 3 / 4
            withUnsafeTemporaryAllocation(byteCount: Twelve.storedCount, alignment: 1) { last in
                bytes.store(to: last, at: 0)
                UnsafeMutableRawBufferPointer(rebasing: memory[written..<written + fresh])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: last[..<fresh]))
            }
            written += fresh
        }
        return written
    }

    private static func paddingCount(of text: Span<UInt8>) -> Int {
        let padding = UInt8(ascii: "=")
        guard text.count >= 4, text[text.count - 1] == padding else { return 0 }
        return text[text.count - 2] == padding ? 2 : 1
    }

    /// The twelve bytes that sixteen characters encode. The code requires that the first byte of a word is the least
    /// significant byte. This is true on every platform that the client supports.
    private struct Twelve {
        /// The number of bytes that a store writes: two words of eight bytes, six bytes apart. The last two bytes of
        /// each word have no meaning.
        static let storedCount = 14

        private let first: UInt64
        private let second: UInt64

        /// Returns nil if one of the characters is not part of the alphabet.
        @inline(__always)
        init?(_ characters: SIMD16<UInt8>) {
            // Subtraction wraps around, so that a value below a range becomes a value far above the range. Each operand
            // is a vector, because operators that take a number are not compiled to vector instructions.
            let upper = characters &- Self.all("A")
            let lower = characters &- Self.all("a")
            let digit = characters &- Self.all("0")
            let isUpper = Self.ones(where: upper .< SIMD16(repeating: 26))
            let isLower = Self.ones(where: lower .< SIMD16(repeating: 26))
            let isDigit = Self.ones(where: digit .< SIMD16(repeating: 10))
            let isPlus = Self.ones(where: characters .== Self.all("+"))
            let isSlash = Self.ones(where: characters .== Self.all("/"))
            let words = unsafeBitCast(isUpper | isLower | isDigit | isPlus | isSlash, to: SIMD2<UInt64>.self)
            guard words[0] & words[1] == .max else { return nil }
            let letters = (upper & isUpper) | ((lower &+ SIMD16(repeating: 26)) & isLower)
            let others = (SIMD16(repeating: 62) & isPlus) | (SIMD16(repeating: 63) & isSlash)
            let values = letters | ((digit &+ SIMD16(repeating: 52)) & isDigit) | others
            // Each value has six bits, and the first value is the highest. Join pairs of values to twelve bits, and
            // then to twenty-four bits.
            let pairs = unsafeBitCast(values, to: SIMD8<UInt16>.self)
            let twelves =
                ((pairs &<< SIMD8(repeating: 6)) & SIMD8(repeating: 0x0FC0)) | (pairs &>> SIMD8(repeating: 8))
            let halves = unsafeBitCast(twelves, to: SIMD4<UInt32>.self)
            let triples =
                ((halves &<< SIMD4(repeating: 12)) & SIMD4(repeating: 0x00FF_F000))
                | (halves &>> SIMD4(repeating: 16))
            first = UInt64(triples[0]) &<< 40 | UInt64(triples[1]) &<< 16
            second = UInt64(triples[2]) &<< 40 | UInt64(triples[3]) &<< 16
        }

        @inline(__always)
        private static func all(_ character: Unicode.Scalar) -> SIMD16<UInt8> {
            SIMD16(repeating: UInt8(ascii: character))
        }

        @inline(__always)
        private static func ones(where mask: SIMDMask<SIMD16<Int8>>) -> SIMD16<UInt8> {
            unsafeBitCast(mask, to: SIMD16<UInt8>.self)
        }

        @inline(__always)
        func store(to memory: UnsafeMutableRawBufferPointer, at offset: Int) {
            memory.storeBytes(of: first.bigEndian, toByteOffset: offset, as: UInt64.self)
            memory.storeBytes(of: second.bigEndian, toByteOffset: offset &+ 6, as: UInt64.self)
        }
    }
}
