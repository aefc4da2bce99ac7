package import NIOCore
import RealtimePrimitives

/// Reads messages from the bytes of a server (RFC 6455). The bytes can arrive in pieces of any size.
///
/// Add bytes with ``append(_:)``, then call ``readTexts(_:)`` and ``next()`` until ``next()`` returns nil. The reader
/// buffers at most one message, up to the maximum message size, and the appended bytes that ``next()`` has not read. Do
/// not use a reader after it has thrown an error.
package struct WebSocketFrameReader: Sendable {
    package enum Output: Hashable, Sendable {
        /// A whole message in UTF-8.
        case text(ByteBuffer)
        case binary(ByteBuffer)
        /// A whole message that the peer has compressed (RFC 7692).
        case compressed(ByteBuffer, isText: Bool)
        /// A fragment that is not the last fragment of its message.
        case fragment
        case ping(ByteBuffer)
        case pong(ByteBuffer)
        /// A close frame. If the frame had no code, the code is 1005.
        case close(WebSocketCloseCode, String)
    }

    private let maximumMessageSize: Int
    /// Whether client and server have agreed on compression.
    private let allowsCompression: Bool
    private var input = ByteBuffer()
    /// The data frame whose payload is incomplete; nil between frames. `message` collects the payload.
    private var frame: UnfinishedFrame?
    private var message: UnfinishedMessage?

    private struct UnfinishedFrame: Sendable {
        var isFinal: Bool
        var missing: Int
    }

    /// - Parameters:
    ///   - maximumMessageSize: The maximum size of a message in bytes, as it is received. The reader does not decompress.
    ///   - allowsCompression: Whether client and server have agreed on compression. Default: false.
    package init(maximumMessageSize: Int, allowsCompression: Bool = false) {
        self.maximumMessageSize = maximumMessageSize
        self.allowsCompression = allowsCompression
    }

    package mutating func append(_ bytes: ByteBuffer) {
        guard input.readableBytes > 0 else {
            input = bytes
            return
        }
        // The remaining bytes are part of a header or of a control frame. The reader puts these bytes into a new
        // buffer. Receivers have slices of the old buffer, so a write to it would copy the whole buffer.
        var joined = ByteBufferAllocator().buffer(capacity: input.readableBytes + bytes.readableBytes)
        joined.writeImmutableBuffer(input)
        joined.writeImmutableBuffer(bytes)
        input = joined
    }

    /// Reports the next text messages that are complete and not fragmented, without copying them. ``next()`` handles
    /// all other frames, so only ``next()`` has to detect violations.
    ///
    /// - Parameter receive: A closure that gets a text message, and returns whether to continue.
    package mutating func readTexts(_ receive: (Span<UInt8>) -> Bool) {
        guard frame == nil, message == nil else { return }
        let input = input
        let bytes = input.readableBytesUInt8Span
        var offset = 0
        while let payload = bytes.payloadOfTextFrame(at: offset), payload.count <= maximumMessageSize {
            let text = bytes.extracting(payload)
            // A closure is faster than a key path, which the program would create at each call.
            guard text.withUnsafeBytes({ $0.isUTF8 }) else { break }
            offset = payload.upperBound
            guard receive(text) else { break }
        }
        self.input.moveReaderIndex(forwardBy: offset)
    }

    /// Returns the next complete output; nil if more bytes are needed.
    package mutating func next() throws(WebSocketViolation) -> Output? {
        if let output = try read() { return output }
        // The reader releases the buffer, so NIO can use its memory for the next bytes.
        if input.readableBytes == 0 { input = ByteBuffer() }
        return nil
    }

    private mutating func read() throws(WebSocketViolation) -> Output? {
        if frame != nil { return try collect() }
        guard let header = try WebSocketFrameHeader(peekingInto: input, allowsCompression: allowsCompression) else {
            return nil
        }
        if header.opcode.isControl { return try readControlFrame(header) }
        try check(header)
        if header.isFinal, message == nil, input.readableBytes - header.size >= header.payloadLength {
            input.moveReaderIndex(forwardBy: header.size)
            return try readWholeMessage(header)
        }
        input.moveReaderIndex(forwardBy: header.size)
        if message == nil {
            message = UnfinishedMessage(isText: header.opcode == .text, isCompressed: header.isCompressed)
        }
        message?.reserve(header.payloadLength)
        frame = UnfinishedFrame(isFinal: header.isFinal, missing: header.payloadLength)
        return try collect()
    }

    /// Rejects a data frame that is out of order or too large, before the reader keeps any of its payload.
    private func check(_ header: WebSocketFrameHeader) throws(WebSocketViolation) {
        if header.opcode == .continuation {
            guard message != nil else { throw .unexpectedContinuation }
        } else {
            guard message == nil else { throw .unfinishedMessage }
        }
        guard header.payloadLength <= maximumMessageSize - (message?.size ?? 0) else {
            throw .messageTooBig(limit: maximumMessageSize)
        }
    }

    private mutating func readWholeMessage(_ header: WebSocketFrameHeader) throws(WebSocketViolation) -> Output? {
        guard let payload = input.readSlice(length: header.payloadLength) else { return nil }
        if header.isCompressed { return .compressed(payload, isText: header.opcode == .text) }
        guard header.opcode == .text else { return .binary(payload) }
        guard payload.isUTF8 else { throw .invalidText }
        return .text(payload)
    }

    private mutating func readControlFrame(_ header: WebSocketFrameHeader) throws(WebSocketViolation) -> Output? {
        guard var payload = input.getSlice(at: input.readerIndex + header.size, length: header.payloadLength)
        else { return nil }
        input.moveReaderIndex(forwardBy: header.size + header.payloadLength)
        switch header.opcode {
        case .ping: return .ping(payload)
        case .pong: return .pong(payload)
        case .continuation, .text, .binary, .close: break
        }
        guard payload.readableBytes > 0 else { return .close(.noStatusReceived, "") }
        guard let number = payload.readInteger(as: UInt16.self) else { throw .shortClosePayload }
        let code = WebSocketCloseCode(rawValue: Int(number))
        guard code.canBeSent else { throw .invalidCloseCode(code.rawValue) }
        guard payload.isUTF8 else { throw .invalidCloseReason }
        return .close(code, String(buffer: payload))
    }

    /// Moves the received part of the payload into the message.
    private mutating func collect() throws(WebSocketViolation) -> Output? {
        guard var frame else { return nil }
        if let part = input.readSlice(length: min(frame.missing, input.readableBytes)) {
            frame.missing -= part.readableBytes
            guard message?.append(part) != false else { throw .invalidText }
        }
        guard frame.missing == 0 else {
            self.frame = frame
            return nil
        }
        self.frame = nil
        guard frame.isFinal, let whole = message else { return .fragment }
        message = nil
        if whole.isCompressed { return .compressed(whole.payload, isText: whole.isText) }
        guard whole.isText else { return .binary(whole.payload) }
        guard whole.endsAtCharacter else { throw .invalidText }
        return .text(whole.payload)
    }
}

extension Span<UInt8> {
    /// Returns the range of the payload if the frame is a complete text message that is not fragmented and has at most
    /// 65,535 bytes.
    fileprivate func payloadOfTextFrame(at offset: Int) -> Range<Int>? {
        guard offset &+ 4 <= count, self[offset] == 0x81 else { return nil }
        let start: Int
        let size: Int
        switch self[offset &+ 1] {
        case let length where length < 126: (start, size) = (offset &+ 2, Int(length))
        case 126:
            (start, size) = (offset &+ 4, Int(self[offset &+ 2]) &<< 8 | Int(self[offset &+ 3]))
            guard size > 125 else { return nil }
        default: return nil
        }
        return size <= count &- start ? start..<start &+ size : nil
    }
}

/// An incomplete message.
private struct UnfinishedMessage: Sendable {
    let isText: Bool
    let isCompressed: Bool
    private(set) var payload = ByteBuffer()
    private var validator = UTF8Validator()

    init(isText: Bool, isCompressed: Bool) {
        self.isText = isText
        self.isCompressed = isCompressed
    }

    var size: Int { payload.readableBytes }
    var endsAtCharacter: Bool { validator.isComplete }

    /// Reserves at most 64 KiB, because the peer may send less than it announces.
    mutating func reserve(_ length: Int) {
        payload.reserveCapacity(minimumWritableBytes: min(length, 65_536))
    }

    /// Appends a part. Returns false if the message is text but not UTF-8.
    mutating func append(_ part: ByteBuffer) -> Bool {
        payload.writeImmutableBuffer(part)
        guard isText, !isCompressed else { return true }
        return part.withUnsafeReadableBytes { validator.consume($0) }
    }
}

extension ByteBuffer {
    fileprivate var isUTF8: Bool { withUnsafeReadableBytes { $0.isUTF8 } }
}
