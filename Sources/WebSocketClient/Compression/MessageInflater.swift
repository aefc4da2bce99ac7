#if Compression
    import CZlib
    package import NIOCore

    /// Decompresses messages (RFC 7692, section 7.2.2).
    package final class MessageInflater {
        /// The end of each message, which the sender has removed.
        private static let tail = ByteBuffer(bytes: [0x00, 0x00, 0xFF, 0xFF])
        /// The size of the pieces in which the inflater writes its output.
        private static let pieceSize = 65_536

        // zlib refers to the address of its stream.
        private let stream: UnsafeMutablePointer<z_stream>
        private let keepsContext: Bool

        /// The number of bytes that zlib has written since the last reset, for tests. After a message that is too big, they
        /// include the bytes that nobody gets.
        package var writtenCount: Int { Int(stream.pointee.total_out) }

        /// - Parameters:
        ///   - windowBits: The base-2 logarithm of the size of the window, from 8 to 15.
        ///   - keepsContext: Whether a message may refer to earlier messages.
        /// - Returns: Nil if there is not enough memory.
        package init?(windowBits: Int, keepsContext: Bool) {
            stream = .allocate(capacity: 1)
            stream.initialize(to: z_stream())
            self.keepsContext = keepsContext
            let size = Int32(MemoryLayout<z_stream>.size)
            guard inflateInit2_(stream, -Int32(windowBits), ZLIB_VERSION, size) == Z_OK else { return nil }
        }

        deinit {
            inflateEnd(stream)
            stream.deallocate()
        }

        /// Decompresses a message. Do not use the inflater after it has thrown.
        ///
        /// - Parameter limit: The maximum size of the message. The inflater checks the size while it writes, so it never
        ///   writes more than one byte beyond the limit.
        package func inflate(_ message: ByteBuffer, limit: Int) throws(WebSocketViolation) -> ByteBuffer {
            var output = ByteBuffer()
            try add(message, to: &output, limit: limit)
            try add(Self.tail, to: &output, limit: limit)
            // After the tail, the stream is between two blocks. Otherwise the message was cut off.
            guard stream.pointee.data_type & 128 != 0 else { throw .invalidCompression }
            if !keepsContext, inflateReset(stream) != Z_OK { throw .invalidCompression }
            return output
        }

        private func add(
            _ input: ByteBuffer,
            to output: inout ByteBuffer,
            limit: Int
        ) throws(WebSocketViolation) {
            guard let size = UInt32(exactly: input.readableBytes) else { throw .messageTooBig(limit: limit) }
            let violation: WebSocketViolation? = input.withUnsafeReadableBytes { bytes in
                stream.pointee.next_in = UnsafeMutablePointer(
                    mutating: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
                )
                stream.pointee.avail_in = size
                defer { stream.pointee.next_in = nil }
                while true {
                    let status = writePiece(to: &output, limit: limit)
                    guard output.readableBytes <= limit else { return .messageTooBig(limit: limit) }
                    switch status {
                    case Z_OK:
                        if stream.pointee.avail_in == 0, stream.pointee.avail_out > 0 { return nil }
                    case Z_BUF_ERROR: return nil
                    case Z_STREAM_END:
                        // The sender may end a message with a final block, and still refer to this message later.
                        guard inflateResetKeep(stream) == Z_OK else { return .invalidCompression }
                        // The stream is now between two blocks. zlib notes this only when it reads more.
                        stream.pointee.data_type = 128
                        if stream.pointee.avail_in == 0 { return nil }
                    default: return .invalidCompression
                    }
                }
            }
            if let violation { throw violation }
        }

        private func writePiece(to output: inout ByteBuffer, limit: Int) -> Int32 {
            // One byte more than the limit shows that the message is too big.
            let size = min(Self.pieceSize - 1, limit - output.readableBytes) + 1
            var status = Z_OK
            output.writeWithUnsafeMutableBytes(minimumWritableBytes: size) { room in
                stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
                stream.pointee.avail_out = UInt32(size)
                status = CZlib.inflate(stream, Z_SYNC_FLUSH)
                stream.pointee.next_out = nil
                return size - Int(stream.pointee.avail_out)
            }
            return status
        }
    }
#endif
