/// Writes MessagePack values. Integers and lengths have their shortest forms.
package struct MessagePackWriter: Sendable {
    package private(set) var bytes: [UInt8]

    /// Creates a writer that appends to `bytes`.
    package init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    package mutating func writeNil() { bytes.append(0xC0) }

    package mutating func write(_ value: Bool) { bytes.append(value ? 0xC3 : 0xC2) }

    package mutating func write(_ value: some FixedWidthInteger) {
        if let value = UInt64(exactly: value) {
            writeUnsigned(value)
        } else if let value = Int64(exactly: value) {
            writeNegative(value)
        }
    }

    package mutating func write(_ value: Float) {
        bytes.append(0xCA)
        append(value.bitPattern)
    }

    package mutating func write(_ value: Double) {
        bytes.append(0xCB)
        append(value.bitPattern)
    }

    package mutating func write(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            writeHeader(utf8.count, short: (0xA0, 31), 0xD9, 0xDA, 0xDB)
            bytes.append(contentsOf: utf8)
        }
    }

    package mutating func writeBinary(_ data: some Collection<UInt8>) {
        writeHeader(data.count, short: nil, 0xC4, 0xC5, 0xC6)
        bytes.append(contentsOf: data)
    }

    /// Writes the start of an array. The caller must write `count` values next.
    package mutating func writeArrayHeader(_ count: Int) {
        writeHeader(count, short: (0x90, 15), nil, 0xDC, 0xDD)
    }

    /// Writes the start of a map. The caller must write `count` pairs next.
    package mutating func writeMapHeader(_ count: Int) {
        writeHeader(count, short: (0x80, 15), nil, 0xDE, 0xDF)
    }

    package mutating func writeExtension(type: Int8, _ data: some Collection<UInt8>) {
        switch data.count {
        case 1: bytes.append(0xD4)
        case 2: bytes.append(0xD5)
        case 4: bytes.append(0xD6)
        case 8: bytes.append(0xD7)
        case 16: bytes.append(0xD8)
        default: writeHeader(data.count, short: nil, 0xC7, 0xC8, 0xC9)
        }
        bytes.append(UInt8(bitPattern: type))
        bytes.append(contentsOf: data)
    }

    /// Writes encoded values.
    package mutating func writeEncoded(_ values: some Collection<UInt8>) { bytes.append(contentsOf: values) }

    /// Inserts encoded values at an offset.
    mutating func insert(_ values: [UInt8], at offset: Int) { bytes.insert(contentsOf: values, at: offset) }

    // MARK: Forms

    private mutating func writeUnsigned(_ value: UInt64) {
        switch value {
        case 0...0x7F: bytes.append(UInt8(truncatingIfNeeded: value))
        case 0x80...0xFF:
            bytes.append(0xCC)
            bytes.append(UInt8(truncatingIfNeeded: value))
        case 0x100...0xFFFF:
            bytes.append(0xCD)
            append(UInt16(truncatingIfNeeded: value))
        case 0x1_0000...0xFFFF_FFFF:
            bytes.append(0xCE)
            append(UInt32(truncatingIfNeeded: value))
        default:
            bytes.append(0xCF)
            append(value)
        }
    }

    private mutating func writeNegative(_ value: Int64) {
        switch value {
        case -32 ... -1: bytes.append(UInt8(truncatingIfNeeded: value))
        case -0x80 ..< -32:
            bytes.append(0xD0)
            bytes.append(UInt8(truncatingIfNeeded: value))
        case -0x8000 ..< -0x80:
            bytes.append(0xD1)
            append(UInt16(truncatingIfNeeded: value))
        case -0x8000_0000 ..< -0x8000:
            bytes.append(0xD2)
            append(UInt32(truncatingIfNeeded: value))
        default:
            bytes.append(0xD3)
            append(UInt64(bitPattern: value))
        }
    }

    private mutating func writeHeader(
        _ count: Int,
        short: (base: UInt8, maximum: Int)?,
        _ byte8: UInt8?,
        _ byte16: UInt8,
        _ byte32: UInt8
    ) {
        if let short, count <= short.maximum {
            bytes.append(short.base | UInt8(truncatingIfNeeded: count))
        } else if let byte8, count <= 0xFF {
            bytes.append(byte8)
            bytes.append(UInt8(truncatingIfNeeded: count))
        } else if count <= 0xFFFF {
            bytes.append(byte16)
            append(UInt16(truncatingIfNeeded: count))
        } else {
            bytes.append(byte32)
            append(UInt32(truncatingIfNeeded: count))
        }
    }

    private mutating func append(_ value: some FixedWidthInteger & UnsignedInteger) {
        for shift in stride(from: value.bitWidth - 8, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }
}
