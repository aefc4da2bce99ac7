#if Compression
    import CZlib
    package import NIOCore

    /// Compresses messages (RFC 7692, section 7.2.1).
    package final class MessageDeflater {
        // zlib refers to the address of its stream.
        private let stream: UnsafeMutablePointer<z_stream>
        private let keepsContext: Bool

        /// - Parameters:
        ///   - windowBits: The base-2 logarithm of the size of the window, from 8 to 15.
        ///   - level: The effort, from 1 to 9.
        ///   - keepsContext: Whether a message may refer to earlier messages.
        /// - Returns: Nil if there is not enough memory.
        package init?(windowBits: Int, level: Int, keepsContext: Bool) {
            stream = .allocate(capacity: 1)
            stream.initialize(to: z_stream())
            self.keepsContext = keepsContext
            let status = deflateInit2_(
                stream,
                Int32(level),
                Z_DEFLATED,
                // zlib makes no raw stream with a window of 256 bytes. With its window of 512 bytes, no distance exceeds
                // 250 bytes, because zlib looks ahead by up to 262 bytes.
                -Int32(max(windowBits, 9)),
                8,
                Z_DEFAULT_STRATEGY,
                ZLIB_VERSION,
                Int32(MemoryLayout<z_stream>.size)
            )
            guard status == Z_OK else { return nil }
        }

        deinit {
            deflateEnd(stream)
            stream.deallocate()
        }

        /// Compresses a message that is not empty. Returns nil if zlib fails; then do not use the deflater any more.
        package func compress(_ message: ByteBuffer) -> ByteBuffer? {
            guard let size = UInt32(exactly: message.readableBytes), size > 0 else { return nil }
            var output = ByteBuffer()
            var isValid = true
            message.withUnsafeReadableBytes { bytes in
                stream.pointee.next_in = UnsafeMutablePointer(
                    mutating: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
                )
                stream.pointee.avail_in = size
                repeat {
                    output.writeWithUnsafeMutableBytes(minimumWritableBytes: max(4_096, bytes.count / 4)) { room in
                        let count = min(room.count, 1 << 30)
                        stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
                        stream.pointee.avail_out = UInt32(count)
                        let status = deflate(stream, Z_SYNC_FLUSH)
                        // Without pending output, a second flush is no error but does nothing.
                        isValid = status == Z_OK || status == Z_BUF_ERROR
                        return count - Int(stream.pointee.avail_out)
                    }
                } while isValid && stream.pointee.avail_out == 0
                (stream.pointee.next_in, stream.pointee.next_out) = (nil, nil)
            }
            if !keepsContext { isValid = isValid && deflateReset(stream) == Z_OK }
            // The flush ends with an empty block, whose last four bytes the receiver appends again.
            guard isValid, output.readableBytes > 4 else { return nil }
            output.moveWriterIndex(to: output.writerIndex - 4)
            return output
        }
    }
#endif
