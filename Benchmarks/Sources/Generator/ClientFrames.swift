import NIOCore

/// Extracts the messages from a client's bytes. To be fast, the parser assumes that clients send whole, masked
/// messages.
struct ClientFrames {
    enum Frame {
        case message([UInt8])
        case close
        case other
    }

    private var received = ByteBuffer()

    mutating func append(_ bytes: ByteBuffer) {
        if received.readableBytes == 0 { received = bytes } else { received.writeImmutableBuffer(bytes) }
    }

    /// The next frame; nil if it is not complete.
    mutating func next() -> Frame? {
        let start = received.readerIndex
        guard let first = received.getInteger(at: start, as: UInt8.self),
            let second = received.getInteger(at: start + 1, as: UInt8.self)
        else { return nil }
        var header = 6
        var length = Int(second & 0x7F)
        if length == 126 {
            header = 8
            guard let long = received.getInteger(at: start + 2, as: UInt16.self) else { return nil }
            length = Int(long)
        } else if length == 127 {
            header = 14
            guard let long = received.getInteger(at: start + 2, as: UInt64.self) else { return nil }
            length = Int(long)
        }
        guard received.readableBytes >= header + length,
            let mask = received.getInteger(at: start + header - 4, endianness: .host, as: UInt32.self)
        else { return nil }
        received.moveReaderIndex(forwardBy: header)
        switch first & 0x0F {
        case 1, 2:
            return .message(unmasked(length, mask))
        case 8:
            return .close
        default:
            received.moveReaderIndex(forwardBy: length)
            return .other
        }
    }

    private mutating func unmasked(_ length: Int, _ mask: UInt32) -> [UInt8] {
        defer { received.moveReaderIndex(forwardBy: length) }
        return received.withUnsafeReadableBytes { bytes in
            [UInt8](unsafeUninitializedCapacity: length) { text, count in
                let words = length / 4
                let output = UnsafeMutableRawBufferPointer(text)
                for word in 0..<words {
                    let value = bytes.loadUnaligned(fromByteOffset: word * 4, as: UInt32.self) ^ mask
                    output.storeBytes(of: value, toByteOffset: word * 4, as: UInt32.self)
                }
                for offset in (words * 4)..<length {
                    text[offset] = bytes[offset] ^ UInt8(truncatingIfNeeded: mask >> (8 * (offset % 4)))
                }
                count = length
            }
        }
    }
}

extension [UInt8] {
    /// Returns the first range that contains the text.
    func range(of text: StaticString, from start: Int = 0) -> Range<Int>? {
        let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        var offset = start
        while offset + wanted.count <= count {
            guard let next = self[offset...].firstIndex(of: wanted[0]) else { return nil }
            if self[next...].starts(with: wanted) { return next..<(next + wanted.count) }
            offset = next + 1
        }
        return nil
    }
}
