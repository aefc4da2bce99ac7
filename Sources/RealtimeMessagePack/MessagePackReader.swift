/// Reads MessagePack values from bytes, one after the other.
///
/// The reader checks an announced length against the available bytes before it allocates memory for it.
package struct MessagePackReader: Sendable {
    /// The maximum nesting of values that the decoder accepts. The limit does not apply to ``skip()``, which is not
    /// recursive.
    package static let maximumDepth = 512

    private let bytes: ArraySlice<UInt8>
    /// The index of the next byte.
    package private(set) var position: Int

    package init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    package init(_ bytes: [UInt8]) { self.init(bytes[...]) }

    package var isAtEnd: Bool { position == bytes.endIndex }

    /// The number of bytes that were not read.
    package var remainingCount: Int { bytes.endIndex - position }

    /// Returns the bytes that were read since an earlier position.
    package func bytes(since start: Int) -> ArraySlice<UInt8> {
        bytes[min(max(start, bytes.startIndex), position)..<position]
    }

    // MARK: Any value

    /// Reads the start of a value. The caller then reads the bytes or values that the header announces.
    package mutating func readHeader() throws(MessagePackError) -> MessagePackHeader {
        let byte = try readByte()
        switch byte {
        case 0x00...0x7F: return .unsigned(UInt64(byte))
        case 0x80...0x8F: return .map(Int(byte & 0x0F))
        case 0x90...0x9F: return .array(Int(byte & 0x0F))
        case 0xA0...0xBF: return .string(Int(byte & 0x1F))
        case 0xC0: return .nil
        case 0xC2: return .bool(false)
        case 0xC3: return .bool(true)
        case 0xC4: return .binary(Int(try read(UInt8.self)))
        case 0xC5: return .binary(Int(try read(UInt16.self)))
        case 0xC6: return .binary(Int(try read(UInt32.self)))
        case 0xC7: return try readExtension(count: Int(try read(UInt8.self)))
        case 0xC8: return try readExtension(count: Int(try read(UInt16.self)))
        case 0xC9: return try readExtension(count: Int(try read(UInt32.self)))
        case 0xCA: return .float(Float(bitPattern: try read(UInt32.self)))
        case 0xCB: return .double(Double(bitPattern: try read(UInt64.self)))
        case 0xCC: return .unsigned(UInt64(try read(UInt8.self)))
        case 0xCD: return .unsigned(UInt64(try read(UInt16.self)))
        case 0xCE: return .unsigned(UInt64(try read(UInt32.self)))
        case 0xCF: return .unsigned(try read(UInt64.self))
        case 0xD0: return .integer(Int64(Int8(bitPattern: try read(UInt8.self))))
        case 0xD1: return .integer(Int64(Int16(bitPattern: try read(UInt16.self))))
        case 0xD2: return .integer(Int64(Int32(bitPattern: try read(UInt32.self))))
        case 0xD3: return .integer(Int64(bitPattern: try read(UInt64.self)))
        case 0xD4...0xD8: return try readExtension(count: 1 << Int(byte - 0xD4))
        case 0xD9: return .string(Int(try read(UInt8.self)))
        case 0xDA: return .string(Int(try read(UInt16.self)))
        case 0xDB: return .string(Int(try read(UInt32.self)))
        case 0xDC: return .array(Int(try read(UInt16.self)))
        case 0xDD: return .array(Int(try read(UInt32.self)))
        case 0xDE: return .map(Int(try read(UInt16.self)))
        case 0xDF: return .map(Int(try read(UInt32.self)))
        case 0xE0...0xFF: return .negative(Int64(Int8(bitPattern: byte)))
        default: throw .invalidByte(byte)
        }
    }

    /// Returns the start of the next value, without advancing.
    package func peekHeader() throws(MessagePackError) -> MessagePackHeader {
        var copy = self
        return try copy.readHeader()
    }

    /// Reads `count` bytes.
    package mutating func readBytes(_ count: Int) throws(MessagePackError) -> ArraySlice<UInt8> {
        guard count >= 0, count <= remainingCount else { throw .truncated }
        defer { position += count }
        return bytes[position..<position + count]
    }

    /// Skips one value, including all nested values.
    package mutating func skip() throws(MessagePackError) {
        // Each value has at least one byte and announces fewer than 2^33 values, so the sum cannot overflow.
        var missing = 1
        while missing > 0 {
            let header = try readHeader()
            _ = try readBytes(header.byteCount)
            missing += header.valueCount - 1
        }
    }

    /// Reads one value of any kind, and returns its bytes.
    package mutating func readValue() throws(MessagePackError) -> ArraySlice<UInt8> {
        let start = position
        try skip()
        return bytes[start..<position]
    }

    // MARK: Values of a type

    /// Reads `nil`. If the next value is not nil, returns `false` and reads nothing.
    package mutating func readNil() -> Bool {
        guard position < bytes.endIndex, bytes[position] == 0xC0 else { return false }
        position += 1
        return true
    }

    package mutating func readBool() throws(MessagePackError) -> Bool {
        let header = try readHeader()
        guard case .bool(let value) = header else { throw .unexpected(header, expected: "a boolean") }
        return value
    }

    /// Reads an integer of any width.
    package mutating func readInteger<T: FixedWidthInteger>(as type: T.Type = T.self) throws(MessagePackError) -> T {
        let header = try readHeader()
        let value: T? =
            switch header {
            case .unsigned(let value): T(exactly: value)
            case .negative(let value): T(exactly: value)
            case .float(let value): T(exactly: value)
            case .double(let value): T(exactly: value)
            default: throw .unexpected(header, expected: "an integer")
            }
        guard let value else { throw .outOfRange }
        return value
    }

    package mutating func readDouble() throws(MessagePackError) -> Double {
        let header = try readHeader()
        return switch header {
        case .double(let value): value
        case .float(let value): Double(value)
        case .unsigned(let value): Double(value)
        case .negative(let value): Double(value)
        default: throw .unexpected(header, expected: "a number")
        }
    }

    package mutating func readString() throws(MessagePackError) -> String {
        let header = try readHeader()
        guard case .string(let count) = header else { throw .unexpected(header, expected: "a string") }
        guard let text = String(validating: try readBytes(count)) else { throw .invalidText }
        return text
    }

    /// Reads the bytes of a string, without checking them.
    package mutating func readStringBytes() throws(MessagePackError) -> ArraySlice<UInt8> {
        let header = try readHeader()
        guard case .string(let count) = header else { throw .unexpected(header, expected: "a string") }
        return try readBytes(count)
    }

    package mutating func readBinary() throws(MessagePackError) -> ArraySlice<UInt8> {
        let header = try readHeader()
        guard case .binary(let count) = header else { throw .unexpected(header, expected: "binary data") }
        return try readBytes(count)
    }

    /// Reads the start of an array, and returns the number of values that follow.
    package mutating func readArrayCount() throws(MessagePackError) -> Int {
        let header = try readHeader()
        guard case .array(let count) = header else { throw .unexpected(header, expected: "an array") }
        return count
    }

    /// Reads the start of a map, and returns the number of pairs that follow.
    package mutating func readMapCount() throws(MessagePackError) -> Int {
        let header = try readHeader()
        guard case .map(let count) = header else { throw .unexpected(header, expected: "a map") }
        return count
    }

    package mutating func readExtension() throws(MessagePackError) -> (type: Int8, bytes: ArraySlice<UInt8>) {
        let header = try readHeader()
        guard case .ext(let type, let count) = header else { throw .unexpected(header, expected: "an extension") }
        return (type, try readBytes(count))
    }

    // MARK: Bytes

    private mutating func readByte() throws(MessagePackError) -> UInt8 {
        guard position < bytes.endIndex else { throw .truncated }
        defer { position += 1 }
        return bytes[position]
    }

    private mutating func read<T: FixedWidthInteger & UnsignedInteger>(_: T.Type) throws(MessagePackError) -> T {
        var value: T = 0
        for byte in try readBytes(T.bitWidth / 8) { value = value << 8 | T(byte) }
        return value
    }

    private mutating func readExtension(count: Int) throws(MessagePackError) -> MessagePackHeader {
        .ext(type: Int8(bitPattern: try readByte()), count: count)
    }
}

extension MessagePackHeader {
    /// Makes the header for an integer. Signed forms can also contain numbers that are not negative.
    fileprivate static func integer(_ value: Int64) -> Self {
        UInt64(exactly: value).map { .unsigned($0) } ?? .negative(value)
    }
}

extension String {
    /// Creates a string. The result is `nil` if the bytes are not UTF-8.
    package init?(validating bytes: ArraySlice<UInt8>) {
        // `String(decoding:as:)` replaces invalid bytes, so only valid UTF-8 gives the same bytes again.
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.utf8.count == bytes.count, text.utf8.elementsEqual(bytes) else { return nil }
        self = text
    }
}
