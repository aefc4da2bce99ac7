package import NIOCore
import RealtimePrimitives

/// Makes the frames of a client. The frames are masked, and each contains a whole message.
package struct WebSocketFrameWriter {
    /// The second half of the last random number, if no frame has used it.
    private var spareKey: UInt32?

    package init() {}

    package mutating func frame(_ text: String, allocator: ByteBufferAllocator) -> ByteBuffer {
        frame(.text, length: text.utf8.count, allocator: allocator) { $0.writeString(text) }
    }

    /// - Parameter isCompressed: Whether the payload is a compressed message (RFC 7692). Default: false.
    package mutating func frame(
        _ opcode: WebSocketOpcode,
        _ payload: ByteBuffer,
        isCompressed: Bool = false,
        allocator: ByteBufferAllocator
    ) -> ByteBuffer {
        frame(opcode, length: payload.readableBytes, isCompressed: isCompressed, allocator: allocator) {
            $0.writeImmutableBuffer(payload)
        }
    }

    /// Makes a close frame. If the code is 1005 or does not fit into 16 bits, the frame has no code and no reason.
    package mutating func closeFrame(_ code: WebSocketCloseCode, reason: String, allocator: ByteBufferAllocator)
        -> ByteBuffer
    {
        var payload = ByteBuffer()
        if code != .noStatusReceived, let number = UInt16(exactly: code.rawValue) {
            payload.writeInteger(number)
            payload.writeString(reason.prefix(fittingUTF8Bytes: 123))
        }
        return frame(.close, payload, allocator: allocator)
    }

    private mutating func frame(
        _ opcode: WebSocketOpcode,
        length: Int,
        isCompressed: Bool = false,
        allocator: ByteBufferAllocator,
        writePayload: (inout ByteBuffer) -> Int
    ) -> ByteBuffer {
        var buffer = allocator.buffer(capacity: length + 14)
        buffer.writeInteger(0x80 | (isCompressed ? 0x40 : 0) | opcode.rawValue)
        if length <= 125 {
            buffer.writeInteger(0x80 | UInt8(truncatingIfNeeded: length))
        } else if length <= Int(UInt16.max) {
            buffer.writeInteger(0x80 | 126 as UInt8)
            buffer.writeInteger(UInt16(truncatingIfNeeded: length))
        } else {
            buffer.writeInteger(0x80 | 127 as UInt8)
            buffer.writeInteger(UInt64(truncatingIfNeeded: length))
        }
        let key = nextKey()
        buffer.writeInteger(key, endianness: .host)
        let headerSize = buffer.readableBytes
        _ = writePayload(&buffer)
        buffer.withUnsafeMutableReadableBytes { bytes in
            Self.mask(UnsafeMutableRawBufferPointer(rebasing: bytes[headerSize...]), with: key)
        }
        return buffer
    }

    /// Returns a key that the author of the payload cannot guess.
    private mutating func nextKey() -> UInt32 {
        // Swift's generator uses the system's random numbers, which are secure. They take time, so one number gives two
        // keys.
        if let key = spareKey.take() { return key }
        let number = UInt64.random(in: .min ... .max)
        spareKey = UInt32(truncatingIfNeeded: number >> 32)
        return UInt32(truncatingIfNeeded: number)
    }

    private static func mask(_ bytes: UnsafeMutableRawBufferPointer, with key: UInt32) {
        let wideKey = UInt64(key) << 32 | UInt64(key)
        var index = 0
        while index &+ 8 <= bytes.count {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            bytes.storeBytes(of: word ^ wideKey, toByteOffset: index, as: UInt64.self)
            index &+= 8
        }
        withUnsafeBytes(of: key) { keyBytes in
            while index < bytes.count {
                bytes[index] ^= keyBytes[index & 3]
                index &+= 1
            }
        }
    }
}
