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

/// The results for sixty-four bytes of a JSON string, with one bit for each byte.
struct StringBlock {
    static let size = 64

    /// The backslashes that begin an escape.
    private(set) var escapes: UInt64
    /// The offset of the first byte that ends the string: an unescaped quotation mark, or a control character, which
    /// JSON does not allow. The offset is ``size`` if the block contains neither.
    private(set) var end: Int

    /// - Parameters:
    ///   - bytes: The address of sixty-four readable bytes.
    ///   - skipped: The number of bytes at the address that are not part of the block. The block is shorter by this
    ///     number.
    ///   - isEscaped: On call: 1 if the block's first byte is part of an escape that begins before the block, else 0.
    ///     On return: 1 if the byte after the block is part of an escape that begins in the block, else 0.
    @inline(__always)
    init(_ bytes: UnsafeRawPointer, skipping skipped: Int = 0, isEscaped: inout UInt64) {
        var backslashMarks = SIMD16<UInt8>.zero
        var quoteMarks = SIMD16<UInt8>.zero
        var controlMarks = SIMD16<UInt8>.zero
        var place = SIMD16<UInt8>(1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2)
        for index in 0..<4 {
            let part = bytes.loadUnaligned(fromByteOffset: index &* 16, as: SIMD16<UInt8>.self)
            backslashMarks |= place.where(part .== SIMD16(repeating: UInt8(ascii: "\\")))
            quoteMarks |= place.where(part .== SIMD16(repeating: UInt8(ascii: "\"")))
            controlMarks |= place.where(part .< SIMD16(repeating: 0x20))
            place = place &* 4
        }
        let backslashes = backslashMarks.bits &>> UInt64(skipped)
        let quotes = quoteMarks.bits &>> UInt64(skipped)
        let escaped = Self.escaped(by: backslashes, isEscaped: &isEscaped)
        escapes = backslashes & ~escaped
        end = (quotes & ~escaped).trailingZeroBitCount
        let controls = controlMarks.bits &>> UInt64(skipped)
        end = min(end, controls.trailingZeroBitCount)
        if end < Self.size { escapes &= (1 &<< UInt64(end)) &- 1 }
    }

    /// Returns the bytes that follow an unescaped backslash. In a row of backslashes, every second byte is escaped. If
    /// the row has an odd length, the byte after the row is escaped too. For rows that begin at an odd offset, an
    /// addition carries a bit to the end of the row.
    @inline(__always)
    private static func escaped(by backslashes: UInt64, isEscaped: inout UInt64) -> UInt64 {
        let backslashes = backslashes & ~isEscaped
        let following = backslashes &<< 1 | isEscaped
        let evens: UInt64 = 0x5555_5555_5555_5555
        let oddStarts = backslashes & ~evens & ~following
        let (rows, carries) = oddStarts.addingReportingOverflow(backslashes)
        isEscaped = carries ? 1 : 0
        return (evens ^ (rows &<< 1)) & following
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

    /// Sixty-four bits, one for each byte of the four vectors.
    @inline(__always)
    fileprivate var bits: UInt64 {
        let halves = unsafeBitCast(self, to: SIMD2<UInt64>.self)
        // The code transposes a table of eight by eight bits: first pairs, then groups of four, then the whole table.
        var table = halves[0] | halves[1]
        var swapped = (table ^ (table &>> 7)) & 0x00AA_00AA_00AA_00AA
        table ^= swapped ^ (swapped &<< 7)
        swapped = (table ^ (table &>> 14)) & 0x0000_CCCC_0000_CCCC
        table ^= swapped ^ (swapped &<< 14)
        swapped = (table ^ (table &>> 28)) & 0x0000_0000_F0F0_F0F0
        return table ^ swapped ^ (swapped &<< 28)
    }
}
