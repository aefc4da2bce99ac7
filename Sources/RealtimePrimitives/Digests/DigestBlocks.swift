/// A message in blocks of 64 bytes, padded for MD5 and SHA-1.
enum DigestBlocks {
    private static let size = 64

    /// - Parameter bitCount: The length of the message in bits, in the byte order of the digest.
    static func forEach(in bytes: [UInt8], bitCount: UInt64, _ body: (UnsafeRawBufferPointer) -> Void) {
        bytes.withUnsafeBytes { message in
            let end = forEachWhole(in: message, body)
            var padded = Array(message[end...]) + [0x80]
            while padded.count % size != size - MemoryLayout<UInt64>.size { padded.append(0) }
            withUnsafeBytes(of: bitCount) { padded += $0 }
            padded.withUnsafeBytes { _ = forEachWhole(in: $0, body) }
        }
    }

    /// - Returns: The offset after the last whole block.
    private static func forEachWhole(
        in bytes: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) -> Void
    ) -> Int {
        var offset = 0
        while bytes.count - offset >= size {
            body(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + size]))
            offset += size
        }
        return offset
    }
}

extension UInt32 {
    func rotated(by count: UInt32) -> UInt32 { self &<< count | self &>> (32 &- count) }
}
