package import NIOCore
import RealtimePrimitives

/// Reads messages from the bytes of a server, however they are split (RFC 6455).
///
/// Give it bytes with ``append(_:)``, then call ``readTexts(_:)`` and ``next()`` until that returns nil. It keeps at
/// most one message, of at most the given size, and the appended bytes that ``next()`` has not read. Do not use it
/// after it has thrown.
package struct WebSocketFrameReader: Sendable {
    package enum Output: Hashable, Sendable {
        /// A whole message in UTF-8.
        case text(ByteBuffer)
        case binary(ByteBuffer)
        /// A fragment that is not the message's last one.
        case fragment
        case ping(ByteBuffer)
        case pong(ByteBuffer)
        /// The code is 1005 if the frame had none.
        case close(WebSocketCloseCode, String)
    }

    private let maximumMessageSize: Int
    private var input = ByteBuffer()
    /// The rest of a data frame whose payload is collected in `message`.
    private var frame: UnfinishedFrame?
    private var message: UnfinishedMessage?

    private struct UnfinishedFrame: Sendable {
        var isFinal: Bool
        var missing: Int
    }

    package init(maximumMessageSize: Int) {
        self.maximumMessageSize = maximumMessageSize
    }

    package mutating func append(_ bytes: ByteBuffer) {
        guard input.readableBytes > 0 else {
            input = bytes
            return
        }
        // The remaining bytes are part of a header or of a control frame. They go into a new buffer, because receivers
        // have slices of the old one, and writing to that would copy all of it.
        var joined = ByteBufferAllocator().buffer(capacity: input.readableBytes + bytes.readableBytes)
        joined.writeImmutableBuffer(input)
        joined.writeImmutableBuffer(bytes)
        input = joined
    }

    /// Reports the next whole texts, without copying them. ``next()`` handles everything else, so that each violation
    /// is found in one place.
    ///
    /// - Parameter receive: Returns whether to continue.
    package mutating func readTexts(_ receive: (Span<UInt8>) -> Bool) {
        guard frame == nil, message == nil else { return }
        let input = input
        let bytes = input.readableBytesUInt8Span
        var offset = 0
        while let payload = bytes.payloadOfTextFrame(at: offset), payload.count <= maximumMessageSize {
            let text = bytes.extracting(payload)
            // A closure, because a key path would be created at each call.
            guard text.withUnsafeBytes({ $0.isUTF8 }) else { break }
            offset = payload.upperBound
            guard receive(text) else { break }
        }
        self.input.moveReaderIndex(forwardBy: offset)
    }

    /// The next complete output; nil if more bytes are needed.
    package mutating func next() throws(WebSocketViolation) -> Output? {
        if let output = try read() { return output }
        // NIO gets the memory back, and needs no more for the next bytes.
        if input.readableBytes == 0 { input = ByteBuffer() }
        return nil
    }

    private mutating func read() throws(WebSocketViolation) -> Output? {
        if frame != nil { return try collect() }
        guard let header = try WebSocketFrameHeader(peekingInto: input) else { return nil }
        if header.opcode.isControl { return try readControlFrame(header) }
        try check(header)
        if header.isFinal, message == nil, input.readableBytes - header.size >= header.payloadLength {
            input.moveReaderIndex(forwardBy: header.size)
            return try readWholeMessage(header)
        }
        input.moveReaderIndex(forwardBy: header.size)
        if message == nil { message = UnfinishedMessage(isText: header.opcode == .text) }
        message?.reserve(header.payloadLength)
        frame = UnfinishedFrame(isFinal: header.isFinal, missing: header.payloadLength)
        return try collect()
    }

    /// Rejects a data frame that is out of turn, or too large, before keeping any of its payload.
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

    /// Moves the received part of the frame's payload into the message.
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
        guard whole.isText else { return .binary(whole.payload) }
        guard whole.endsAtCharacter else { throw .invalidText }
        return .text(whole.payload)
    }
}

extension Span<UInt8> {
    /// The range of the frame's payload, if it is a whole text message, has a length of at most 16 bits, and is
    /// complete.
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

/// A message that is not complete.
private struct UnfinishedMessage: Sendable {
    let isText: Bool
    private(set) var payload = ByteBuffer()
    private var validator = UTF8Validator()

    init(isText: Bool) {
        self.isText = isText
    }

    var size: Int { payload.readableBytes }
    var endsAtCharacter: Bool { validator.isComplete }

    /// The peer only announces the length, so little memory is reserved for it.
    mutating func reserve(_ length: Int) {
        payload.reserveCapacity(minimumWritableBytes: min(length, 65_536))
    }

    /// False if a text is not UTF-8.
    mutating func append(_ part: ByteBuffer) -> Bool {
        payload.writeImmutableBuffer(part)
        guard isText else { return true }
        return part.withUnsafeReadableBytes { validator.consume($0) }
    }
}

extension ByteBuffer {
    fileprivate var isUTF8: Bool { withUnsafeReadableBytes { $0.isUTF8 } }
}
