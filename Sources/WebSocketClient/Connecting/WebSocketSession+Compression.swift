import NIOCore

extension WebSocketSession {
    /// Writes a text message, which the next ``flush()`` sends.
    func sendText(_ text: String, promise: EventLoopPromise<Void>?) {
        #if Compression
            if compresses(text.utf8.count), sendCompressed(.text, ByteBuffer(string: text), promise) { return }
        #endif
        send(promise) { $0.frame(text, allocator: $1) }
    }

    /// Writes a binary message, which the next ``flush()`` sends.
    func sendBinary(_ bytes: ByteBuffer, promise: EventLoopPromise<Void>?) {
        #if Compression
            if compresses(bytes.readableBytes), sendCompressed(.binary, bytes, promise) { return }
        #endif
        send(promise) { $0.frame(.binary, bytes, allocator: $1) }
    }

    /// Decompresses and reports a message. Without compression, the reader rejects such a message.
    func readCompressed(_ payload: ByteBuffer, isText: Bool, _ receive: (WebSocketEvent) -> Void) {
        #if Compression
            do throws(WebSocketViolation) {
                guard let inflater else { throw .reservedBits }
                let message = try inflater.inflate(payload, limit: options.maximumMessageSize)
                guard isText else { return receive(.binary(message)) }
                guard message.withUnsafeReadableBytes({ $0.isUTF8 }) else { throw .invalidText }
                receive(.text(message.readableBytesUInt8Span))
            } catch {
                violated(error)
            }
        #else
            violated(.reservedBits)
        #endif
    }

    #if Compression
        /// Prepares the compression on which client and server have agreed.
        func beginCompression(_ agreement: DeflateAgreement) {
            reader = WebSocketFrameReader(maximumMessageSize: options.maximumMessageSize, allowsCompression: true)
            inflater = MessageInflater(
                windowBits: agreement.serverWindowBits,
                keepsContext: agreement.serverKeepsContext
            )
            deflater = MessageDeflater(
                windowBits: agreement.clientWindowBits,
                level: options.compression?.level ?? 6,
                keepsContext: agreement.clientKeepsContext
            )
        }

        /// Whether a message of this size is compressed. Empty messages are not, because nothing could become smaller.
        private func compresses(_ size: Int) -> Bool {
            guard case .open = stage, deflater != nil, let threshold = options.compression?.threshold else {
                return false
            }
            return size >= max(threshold, 1)
        }

        /// Returns false if the message could not be compressed. The client then compresses no more messages, because the
        /// server would not know the context.
        private func sendCompressed(
            _ opcode: WebSocketOpcode,
            _ message: ByteBuffer,
            _ promise: EventLoopPromise<Void>?
        ) -> Bool {
            guard let compressed = deflater?.compress(message) else {
                deflater = nil
                return false
            }
            send(promise) { $0.frame(opcode, compressed, isCompressed: true, allocator: $1) }
            return true
        }
    #endif
}
