package import NIOCore

/// The kinds of frame (RFC 6455, section 5.2).
package enum WebSocketOpcode: UInt8, Hashable, Sendable {
    case continuation = 0x0
    case text = 0x1
    case binary = 0x2
    case close = 0x8
    case ping = 0x9
    case pong = 0xA

    package var isControl: Bool { rawValue & 0x8 != 0 }
}

/// The header of a frame from a server.
package struct WebSocketFrameHeader: Hashable, Sendable {
    package var opcode: WebSocketOpcode
    package var isFinal: Bool
    /// Whether the bit RSV1 marks the first frame of a compressed message (RFC 7692, section 6).
    package var isCompressed: Bool
    /// The number of bytes of the payload.
    package var payloadLength: Int
    /// The number of bytes of the header.
    package var size: Int

    /// Reads the header at the buffer's reader index, without moving the index. The result is nil if more bytes are
    /// needed.
    ///
    /// The initializer throws as soon as the bytes show that the header is invalid.
    ///
    /// - Parameter allowsCompression: Whether client and server have agreed on compression. Default: false.
    package init?(peekingInto buffer: ByteBuffer, allowsCompression: Bool = false) throws(WebSocketViolation) {
        let start = buffer.readerIndex
        guard let first = buffer.getInteger(at: start, as: UInt8.self) else { return nil }
        guard first & (allowsCompression ? 0x30 : 0x70) == 0 else { throw .reservedBits }
        guard let opcode = WebSocketOpcode(rawValue: first & 0x0F) else { throw .reservedOpcode(first & 0x0F) }
        self.opcode = opcode
        self.isFinal = first & 0x80 != 0
        self.isCompressed = first & 0x40 != 0
        if isCompressed, opcode.isControl || opcode == .continuation { throw .reservedBits }
        if opcode.isControl, !isFinal { throw .fragmentedControlFrame }

        guard let second = buffer.getInteger(at: start + 1, as: UInt8.self) else { return nil }
        guard second & 0x80 == 0 else { throw .masked }
        if opcode.isControl, second > 125 { throw .longControlFrame }
        switch second {
        case 126:
            guard let length = buffer.getInteger(at: start + 2, as: UInt16.self) else { return nil }
            guard length > 125 else { throw .invalidLength }
            self.payloadLength = Int(length)
            self.size = 4
        case 127:
            guard let length = buffer.getInteger(at: start + 2, as: UInt64.self) else { return nil }
            guard length > UInt64(UInt16.max), let length = Int(exactly: length) else { throw .invalidLength }
            self.payloadLength = length
            self.size = 10
        default:
            self.payloadLength = Int(second)
            self.size = 2
        }
    }
}
