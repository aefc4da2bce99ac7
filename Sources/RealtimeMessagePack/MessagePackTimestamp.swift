/// A time, as in MessagePack's extension of type -1.
package struct MessagePackTimestamp: Hashable, Sendable {
    package static let extensionType: Int8 = -1

    /// The seconds since 1970-01-01T00:00:00Z.
    package var seconds: Int64
    /// The nanoseconds, from 0 to 999,999,999.
    package var nanoseconds: UInt32

    package init(seconds: Int64, nanoseconds: UInt32) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// Reads a form of 4, 8 or 12 bytes. The result is `nil` if the bytes have another form.
    package init?(extensionBytes bytes: ArraySlice<UInt8>) {
        func integer(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        switch bytes.count {
        case 4: self.init(seconds: Int64(integer(bytes)), nanoseconds: 0)
        case 8:
            let value = integer(bytes)
            self.init(
                seconds: Int64(value & 0x3_FFFF_FFFF),
                nanoseconds: UInt32(truncatingIfNeeded: value >> 34)
            )
        case 12:
            self.init(
                seconds: Int64(bitPattern: integer(bytes.dropFirst(4))),
                nanoseconds: UInt32(truncatingIfNeeded: integer(bytes.prefix(4)))
            )
        default: return nil
        }
        guard nanoseconds < 1_000_000_000 else { return nil }
    }

    /// The value in its shortest form.
    package var extensionBytes: [UInt8] {
        func bytes(_ value: UInt64, _ count: Int) -> [UInt8] {
            (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        }
        guard let unsigned = UInt64(exactly: seconds), unsigned >> 34 == 0 else {
            return bytes(UInt64(nanoseconds), 4) + bytes(UInt64(bitPattern: seconds), 8)
        }
        if nanoseconds == 0, unsigned >> 32 == 0 { return bytes(unsigned, 4) }
        return bytes(UInt64(nanoseconds) << 34 | unsigned, 8)
    }
}
