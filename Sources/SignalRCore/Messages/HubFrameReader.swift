/// Splits the bytes of a connection into frames. It ignores the transport's own frames: each may contain a part of
/// a message, or several.
package struct HubFrameReader: Sendable {
    private enum Framing {
        /// A record ends with the byte 0x1E.
        case separated
        /// A record begins with its length.
        case prefixed
    }

    package static let separator: UInt8 = 0x1E

    /// The largest frame, in bytes.
    private let limit: Int
    private var framing = Framing.separated
    private var buffer: ArraySlice<UInt8> = []
    /// How many bytes of the buffer are known to contain no separator.
    private var searched = 0

    /// Creates a reader for a connection whose next bytes are a handshake, which ends in the same way in both
    /// protocols.
    ///
    /// - Parameter limit: The largest frame, in bytes. It limits the memory of the reader.
    package init(limit: Int) { self.limit = limit }

    /// The rest belongs to the protocol.
    package mutating func begin(_ hubProtocol: HubProtocol) {
        framing = hubProtocol.isBinary ? .prefixed : .separated
    }

    package mutating func append(_ bytes: [UInt8]) {
        if buffer.isEmpty {
            // The usual case, without a copy: each frame of the transport holds whole messages.
            buffer = bytes[...]
        } else {
            buffer += bytes
        }
    }

    /// The next complete frame, without its length or separator.
    package mutating func next() throws(HubProtocolViolation) -> ArraySlice<UInt8>? {
        switch framing {
        case .separated: try nextSeparated()
        case .prefixed: try nextPrefixed()
        }
    }

    private mutating func nextSeparated() throws(HubProtocolViolation) -> ArraySlice<UInt8>? {
        guard let end = buffer.dropFirst(searched).firstIndex(of: Self.separator) else {
            searched = buffer.count
            try check(buffer.count)
            return nil
        }
        let frame = buffer[..<end]
        try check(frame.count)
        drop(frame.count + 1)
        return frame
    }

    private mutating func nextPrefixed() throws(HubProtocolViolation) -> ArraySlice<UInt8>? {
        guard let (length, headerCount) = try VarInt.decode(buffer) else { return nil }
        try check(length)
        guard buffer.count - headerCount >= length else { return nil }
        let frame = buffer.dropFirst(headerCount).prefix(length)
        drop(headerCount + length)
        return frame
    }

    private func check(_ count: Int) throws(HubProtocolViolation) {
        guard count <= limit else {
            throw HubProtocolViolation("a message is larger than \(limit) bytes")
        }
    }

    private mutating func drop(_ count: Int) {
        buffer = buffer.dropFirst(count)
        searched = 0
        // A slice would keep the whole array, and the rest is usually empty.
        if buffer.isEmpty { buffer = [] }
    }
}

/// The lengths of binary frames: seven bits in a byte, the lowest first, and the highest bit set if more follow.
enum VarInt {
    static let maximum = 0x7FFF_FFFF

    static func encode(_ value: Int) -> [UInt8] {
        var rest = UInt32(truncatingIfNeeded: min(max(value, 0), maximum))
        var bytes: [UInt8] = []
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(truncatingIfNeeded: rest)]
    }

    /// The value, and how many bytes it has; `nil` if more bytes are needed.
    static func decode(_ bytes: ArraySlice<UInt8>) throws(HubProtocolViolation) -> (value: Int, count: Int)? {
        var value = 0
        for (index, byte) in bytes.prefix(5).enumerated() {
            if index == 4, byte > 0x07 { throw HubProtocolViolation("the length of a message has more than 31 bits") }
            value |= Int(byte & 0x7F) << (7 * index)
            if byte < 0x80 { return (value, index + 1) }
        }
        return nil
    }
}
