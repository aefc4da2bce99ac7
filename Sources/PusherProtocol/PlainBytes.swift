/// Functions that search in eight bytes at once. The first byte is the least significant byte of the word.
///
/// Each search sets the highest bit of each matching byte.
enum EightBytes {
    private static let lows: UInt64 = 0x0101_0101_0101_0101
    private static let highs: UInt64 = 0x8080_8080_8080_8080

    /// Marks the bytes that end a run of plain bytes in a JSON string: quotation marks, backslashes and control
    /// characters. Only the lowest mark is reliable.
    @inline(__always)
    static func endingRun(in word: UInt64) -> UInt64 {
        let quotes = word ^ (lows &* UInt64(UInt8(ascii: "\"")))
        let backslashes = word ^ (lows &* UInt64(UInt8(ascii: "\\")))
        return ((quotes &- lows) & ~quotes | (backslashes &- lows) & ~backslashes) & highs | controls(in: word)
    }

    /// Marks control characters. Only the lowest mark is reliable.
    @inline(__always)
    static func controls(in word: UInt64) -> UInt64 { (word &- (lows &* 0x20)) & ~word & highs }
}

extension Span<UInt8> {
    /// Returns the offset of the first byte that ends a run of plain bytes in a JSON string; the count if there is no
    /// such byte.
    @inline(__always)
    func endOfRun(from start: Int) -> Int {
        var index = start
        while index &+ 16 <= count {
            let part = bytes.unsafeLoadUnaligned(fromByteOffset: index, as: SIMD16<UInt8>.self)
            guard !part.endsRun else { break }
            index &+= 16
        }
        while index &+ 8 <= count {
            let word = UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self))
            let found = EightBytes.endingRun(in: word)
            if found != 0 { return index &+ found.trailingZeroBitCount &>> 3 }
            index &+= 8
        }
        while index < count {
            let byte = self[index]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 { return index }
            index &+= 1
        }
        return count
    }
}

extension SIMD16<UInt8> {
    /// Whether any of the bytes ends a run of plain bytes in a JSON string.
    @inline(__always)
    fileprivate var endsRun: Bool {
        let ends =
            (self .== SIMD16(repeating: UInt8(ascii: "\""))) .| (self .== SIMD16(repeating: UInt8(ascii: "\\")))
            .| (self .< SIMD16(repeating: 0x20))
        let halves = unsafeBitCast(Self(repeating: 1).where(ends), to: SIMD2<UInt64>.self)
        return halves[0] | halves[1] != 0
    }

    fileprivate static var zero: Self { Self(repeating: 0) }

    /// Keeps the bytes of the mask, and sets all other bytes to zero.
    @inline(__always)
    fileprivate func `where`(_ mask: SIMDMask<SIMD16<Int8>>) -> Self { Self.zero.replacing(with: self, where: mask) }
}

extension String {
    /// Creates a string of the bytes in the range. Bytes that are not UTF-8 become U+FFFD.
    init(copying bytes: Span<UInt8>, _ range: Range<Int>) {
        self = bytes.extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }
}
