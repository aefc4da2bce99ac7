/// An operation that unescapes the bytes of a JSON string in one pass.
struct JSONStringUnescaping {
    /// The number of bytes that the output needs beyond the size of the input. These bytes have no meaning.
    static let slack = 16

    /// The number of written bytes.
    private(set) var count = 0
    /// The offset of the string's closing quotation mark.
    private(set) var end = 0
    /// The offset of the first invalid byte; nil if there is none.
    private(set) var malformedOffset: Int?

    /// - Parameters:
    ///   - source: All bytes. The string may end before the last byte.
    ///   - start: The beginning of the string, after its opening quotation mark.
    ///   - target: Memory for the rest of the source, and ``slack`` more bytes.
    mutating func unescape(
        _ source: UnsafeRawBufferPointer,
        from start: Int,
        into target: UnsafeMutableRawBufferPointer
    ) {
        guard let from = source.baseAddress, let to = target.baseAddress, start <= source.count,
            target.count >= source.count - start + Self.slack
        else { return malformedOffset = start }
        let sourceCount = source.count
        var place = Place(read: start, written: 0)
        var base = start
        var isEscaped: UInt64 = 0
        while base < sourceCount {
            let block = Self.block(source, from: base, isEscaped: &isEscaped)
            var escapes = block.escapes
            while escapes != 0 {
                let index = base &+ escapes.trailingZeroBitCount
                escapes &= escapes &- 1
                // Skip the second half of a surrogate pair, because the code has handled it with the first half.
                if index < place.read { continue }
                place.written = Self.copy(from, sourceCount, place, to: index, into: to)
                guard index &+ 1 < sourceCount else { return malformedOffset = index }
                let letter = from.load(fromByteOffset: index &+ 1, as: UInt8.self)
                if letter == UInt8(ascii: "\"") || letter == UInt8(ascii: "\\") {
                    to.storeBytes(of: letter, toByteOffset: place.written, as: UInt8.self)
                    place = Place(read: index &+ 2, written: place.written &+ 1)
                } else {
                    guard let next = Self.writeRareEscape(letter, source, at: index, into: to, place.written)
                    else { return malformedOffset = index }
                    place = next
                }
            }
            if block.end < StringBlock.size {
                end = base &+ block.end
                guard end < sourceCount, source[end] == UInt8(ascii: "\""), place.read <= end else {
                    return malformedOffset = min(end, sourceCount)
                }
                count = Self.copy(from, sourceCount, place, to: end, into: to)
                return
            }
            base &+= StringBlock.size
        }
        malformedOffset = sourceCount
    }

    /// The current offsets of reading and writing.
    private struct Place {
        var read: Int
        var written: Int
    }

    @inline(__always)
    private static func block(
        _ source: UnsafeRawBufferPointer,
        from base: Int,
        isEscaped: inout UInt64
    ) -> StringBlock {
        let last = source.count &- StringBlock.size
        guard last >= 0, let bytes = source.baseAddress else {
            return onlyBlock(UnsafeRawBufferPointer(rebasing: source[base...]), isEscaped: &isEscaped)
        }
        // The last block ends with the last byte. The block begins earlier if the number of bytes is not a multiple of
        // the block size.
        let start = min(base, last)
        return StringBlock(bytes + start, skipping: base &- start, isEscaped: &isEscaped)
    }

    /// Makes a block from fewer than sixty-four bytes. Spaces fill the rest, because they have no special meaning.
    @inline(never)
    private static func onlyBlock(_ bytes: UnsafeRawBufferPointer, isEscaped: inout UInt64) -> StringBlock {
        withUnsafeTemporaryAllocation(byteCount: StringBlock.size, alignment: 8) { whole in
            whole.initializeMemory(as: UInt8.self, repeating: UInt8(ascii: " "))
            whole.copyMemory(from: bytes)
            return StringBlock(UnsafeRawPointer(whole.baseAddress!), isEscaped: &isEscaped)
        }
    }

    /// Copies plain bytes, sixteen at a time. The last store may write surplus bytes, which are overwritten later.
    /// Returns the size of the output after the copy, without surplus bytes.
    @inline(__always)
    private static func copy(
        _ source: UnsafeRawPointer,
        _ sourceCount: Int,
        _ place: Place,
        to end: Int,
        into target: UnsafeMutableRawPointer
    ) -> Int {
        var from = place.read
        var to = place.written
        let written = to &+ (end &- from)
        repeat {
            if from &+ 16 <= sourceCount {
                target.storeBytes(
                    of: source.loadUnaligned(fromByteOffset: from, as: SIMD16<UInt8>.self),
                    toByteOffset: to,
                    as: SIMD16<UInt8>.self
                )
            } else {
                (target + to).copyMemory(from: source + from, byteCount: end &- from)
                return written
            }
            from &+= 16
            to &+= 16
        } while from < end
        return written
    }
}

/// The rare escapes. The methods take only values, so that the loop's variables can stay in registers.
extension JSONStringUnescaping {
    @inline(never)
    private static func writeRareEscape(
        _ letter: UInt8,
        _ source: UnsafeRawBufferPointer,
        at index: Int,
        into target: UnsafeMutableRawPointer,
        _ written: Int
    ) -> Place? {
        let byte: UInt8
        switch letter {
        case UInt8(ascii: "/"): byte = letter
        case UInt8(ascii: "b"): byte = 0x08
        case UInt8(ascii: "f"): byte = 0x0C
        case UInt8(ascii: "n"): byte = 0x0A
        case UInt8(ascii: "r"): byte = 0x0D
        case UInt8(ascii: "t"): byte = 0x09
        case UInt8(ascii: "u"): return writeScalar(source, at: index, into: target, written)
        default: return nil
        }
        target.storeBytes(of: byte, toByteOffset: written, as: UInt8.self)
        return Place(read: index + 2, written: written + 1)
    }

    /// Writes the character of a `\uXXXX`, or of a pair of such escapes. Half of a pair becomes U+FFFD.
    private static func writeScalar(
        _ source: UnsafeRawBufferPointer,
        at index: Int,
        into target: UnsafeMutableRawPointer,
        _ written: Int
    ) -> Place? {
        let bytes = source.assumingMemoryBound(to: UInt8.self).span
        guard let first = bytes.hexadecimalCodeUnit(at: index + 2) else { return nil }
        var place = Place(read: index + 6, written: written)
        var scalar = Unicode.Scalar(first) ?? "\u{FFFD}"
        if UTF16.isLeadSurrogate(first), bytes.matches("\\u", at: index + 6),
            let second = bytes.hexadecimalCodeUnit(at: index + 8), UTF16.isTrailSurrogate(second)
        {
            let value = 0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00)
            scalar = Unicode.Scalar(value) ?? "\u{FFFD}"
            place.read = index + 12
        }
        for unit in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
            target.storeBytes(of: unit, toByteOffset: place.written, as: UInt8.self)
            place.written += 1
        }
        return place
    }
}
