/// Splits the bytes of a connection into the frames of the hub protocol. The reader ignores the boundaries of the
/// transport's frames. A frame of the transport can contain a part of a message, or several messages.
package struct HubFrameReader: Sendable {
    private enum Framing {
        /// A frame ends with the byte 0x1E.
        case separated
        /// A frame begins with its length.
        case prefixed
    }

    package static let separator: UInt8 = 0x1E

    /// The maximum size of a frame, in bytes.
    private let limit: Int
    private var framing = Framing.separated
    private var buffer: ArraySlice<UInt8> = []
    /// The number of bytes in the buffer that are known to contain no separator.
    private var searched = 0

    /// Creates a reader for a connection whose next bytes are a handshake. The handshake ends in the same way in both
    /// protocols.
    ///
    /// - Parameter limit: The maximum size of a frame, in bytes, which also limits the memory of the reader.
    package init(limit: Int) { self.limit = limit }

    /// Switches from the handshake to the protocol. All later bytes are messages of the protocol.
    package mutating func begin(_ hubProtocol: HubProtocol) {
        framing = hubProtocol.isBinary ? .prefixed : .separated
    }

    package mutating func append(_ bytes: [UInt8]) {
        if buffer.isEmpty {
            // Usually, a frame of the transport contains only whole messages, so the reader needs no copy.
            buffer = bytes[...]
        } else {
            buffer += bytes
        }
    }

    /// Returns the next complete frame, without its length or separator.
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
        guard count <= limit else { throw .tooLarge(limit: limit) }
    }

    private mutating func drop(_ count: Int) {
        buffer = buffer.dropFirst(count)
        searched = 0
        // An empty slice would retain the memory of the whole array.
        if buffer.isEmpty { buffer = [] }
    }
}

/// The lengths of binary frames. Each byte contains seven bits of the length, and the first byte contains the lowest
/// bits. The highest bit of a byte is set if more bytes follow.
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

    /// Returns the value and its number of bytes, or `nil` if more bytes are needed.
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
