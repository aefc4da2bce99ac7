package import PusherProtocol
import RealtimePrimitives

/// One line of a response that carries the protocol over HTTP, or one message of such a line.
package enum HTTPFrame: ~Escapable {
    /// `o`: the session is open. If the frame names a host, later requests of the session go to this host.
    case open(hostname: String?)
    /// One message of an `a` frame, or the message of an `m` frame, as valid UTF-8. The bytes are valid only until the
    /// receiver returns.
    case message(Span<UInt8>)
    /// `h`, or an `a` frame without a message: the server is alive.
    case heartbeat(wantsAnswer: Bool)
    /// `c`: the server has closed the session. The reader cuts the reason to the size limit of a WebSocket's close
    /// frame.
    case close(CloseCode, reason: String)
}

/// The reason why the reader cannot read the rest of a response.
package enum HTTPFrameViolation: Error, Hashable, Sendable {
    /// A frame is longer than this number of bytes.
    case tooLong(limit: Int)
    /// A frame with this first character is malformed.
    case malformed(Character)
    /// A frame is not UTF-8.
    case invalidText
}

/// A reader of the frames in a response. The response may be split into pieces at any byte.
///
/// A frame is a line. The reader keeps a split line until the rest of the line has arrived, and reads other lines in
/// place. Do not use the reader after it has thrown an error.
package struct HTTPFrameReader: ~Copyable {
    /// The longest reason of a WebSocket's close frame, in bytes.
    private static let longestReason = 123

    private let limit: Int
    private let messageLimit: Int
    /// The beginning of a line whose rest has not arrived.
    private var line: [UInt8] = []
    private var text = UnescapedText()

    /// - Parameters:
    ///   - maximumMessageSize: The maximum size of a message, in bytes.
    ///   - joinedSize: The number of bytes by which a frame may exceed twice the maximum message size. Servers escape
    ///     messages, and join several messages in one frame.
    package init(maximumMessageSize: Int, joinedSize: Int = 256 * 1_024) {
        messageLimit = maximumMessageSize
        limit = maximumMessageSize * 2 + joinedSize
    }

    /// Whether the last read byte completed a frame.
    package var isAtFrameEnd: Bool { line.isEmpty }

    /// Reads the next piece of the response.
    ///
    /// - Parameter receive: A closure that the reader calls with each complete frame. The closure returns whether the
    ///   reader continues. If not, the reader drops the rest of the piece.
    /// - Returns: Whether the reader reached the end of the piece.
    package mutating func read(
        _ piece: Span<UInt8>,
        _ receive: (borrowing HTTPFrame) -> Bool
    ) throws(HTTPFrameViolation) -> Bool {
        var start = 0
        while let end = piece.firstNewline(from: start) {
            let part = piece.extracting(start..<end)
            start = end + 1
            if line.isEmpty {
                guard part.count <= limit else { throw .tooLong(limit: limit) }
                guard try readLine(part, receive) else { return false }
            } else {
                try keep(part)
                // The next split line reuses the memory, unless this line was long.
                var line = [UInt8]()
                swap(&line, &self.line)
                guard try readLine(line.span, receive) else { return false }
                guard line.count <= 16_384 else { continue }
                line.removeAll(keepingCapacity: true)
                self.line = line
            }
        }
        try keep(piece.extracting(start..<piece.count))
        return true
    }

    /// Releases the memory in which the reader unescapes messages.
    package mutating func releaseMemory() { text.releaseMemory() }

    private mutating func keep(_ part: Span<UInt8>) throws(HTTPFrameViolation) {
        guard part.count <= limit - line.count else { throw .tooLong(limit: limit) }
        part.withUnsafeBufferPointer { line.append(contentsOf: $0) }
    }

    private mutating func readLine(
        _ line: Span<UInt8>,
        _ receive: (borrowing HTTPFrame) -> Bool
    ) throws(HTTPFrameViolation) -> Bool {
        guard line.count > 0 else { return true }
        guard line.withUnsafeBytes({ $0.isUTF8 }) else { throw .invalidText }
        switch line[0] {
        case UInt8(ascii: "a"): return try readMessages(line, receive)
        case UInt8(ascii: "m"):
            let start = line.skippingWhitespace(from: 1)
            var end = start
            guard try readMessage(line, at: &end, "m", receive) else { return false }
            guard line.skippingWhitespace(from: end) == line.count else { throw .malformed("m") }
            return true
        case UInt8(ascii: "h"): return receive(.heartbeat(wantsAnswer: true))
        case UInt8(ascii: "o"): return receive(.open(hostname: try Self.hostname(line)))
        case UInt8(ascii: "c"):
            let (code, reason) = try readClose(line)
            return receive(.close(code, reason: reason))
        default: return true
        }
    }

    // MARK: Messages

    private mutating func readMessages(
        _ line: Span<UInt8>,
        _ receive: (borrowing HTTPFrame) -> Bool
    ) throws(HTTPFrameViolation) -> Bool {
        var index = line.skippingWhitespace(from: 1)
        guard index < line.count, line[index] == UInt8(ascii: "[") else { throw .malformed("a") }
        index = line.skippingWhitespace(from: index + 1)
        if index < line.count, line[index] == UInt8(ascii: "]") {
            guard line.skippingWhitespace(from: index + 1) == line.count else { throw .malformed("a") }
            return receive(.heartbeat(wantsAnswer: false))
        }
        while true {
            guard try readMessage(line, at: &index, "a", receive) else { return false }
            index = line.skippingWhitespace(from: index)
            guard index < line.count else { throw .malformed("a") }
            if line[index] == UInt8(ascii: "]") { break }
            guard line[index] == UInt8(ascii: ",") else { throw .malformed("a") }
            index = line.skippingWhitespace(from: index + 1)
        }
        guard line.skippingWhitespace(from: index + 1) == line.count else { throw .malformed("a") }
        return true
    }

    /// Reads the string at the index, and moves the index past it.
    private mutating func readMessage(
        _ line: Span<UInt8>,
        at index: inout Int,
        _ kind: Character,
        _ receive: (borrowing HTTPFrame) -> Bool
    ) throws(HTTPFrameViolation) -> Bool {
        let messageLimit = messageLimit
        let goesOn = text.readString(line, at: &index) { bytes -> Bool? in
            bytes.count <= messageLimit ? receive(.message(bytes)) : nil
        }
        guard let goesOn else { throw .malformed(kind) }
        guard let goesOn else { throw .tooLong(limit: messageLimit) }
        return goesOn
    }

    // MARK: Rare frames

    private static func hostname(_ line: Span<UInt8>) throws(HTTPFrameViolation) -> String? {
        guard line.skippingWhitespace(from: 1) < line.count else { return nil }
        // A valid frame of this kind is never longer.
        guard line.count <= 4_096 else { throw .malformed("o") }
        let text = line.extracting(1..<line.count).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        guard case .object(let members)? = JSONValue(parsing: text) else { throw .malformed("o") }
        switch members["hostname"] {
        case nil, .null?: return nil
        case .string(let name)?: return name
        default: throw .malformed("o")
        }
    }

    /// Reads the code and the reason. The server has closed the session in any case, so the reader ignores an invalid
    /// reason.
    private mutating func readClose(
        _ line: Span<UInt8>
    ) throws(HTTPFrameViolation) -> (CloseCode, reason: String) {
        var index = line.skippingWhitespace(from: 1)
        guard index < line.count, line[index] == UInt8(ascii: "[") else { throw .malformed("c") }
        index = line.skippingWhitespace(from: index + 1)
        var code = 0
        while index < line.count, code < 1_000, (0x30...0x39).contains(line[index]) {
            code = code * 10 + Int(line[index] - 0x30)
            index += 1
        }
        index = line.skippingWhitespace(from: index)
        guard (1_000...4_999).contains(code), index < line.count else { throw .malformed("c") }
        switch line[index] {
        case UInt8(ascii: "]"): return (CloseCode(rawValue: code), "")
        case UInt8(ascii: ","):
            index = line.skippingWhitespace(from: index + 1)
            let reason = text.readString(line, at: &index) { bytes in
                bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
                    .prefix(fittingUTF8Bytes: Self.longestReason)
            }
            return (CloseCode(rawValue: code), reason ?? "")
        default: throw .malformed("c")
        }
    }
}

extension Span<UInt8> {
    fileprivate func firstNewline(from start: Int) -> Int? {
        extracting(start...).withUnsafeBytes { $0.offset(of: 0x0A) }.map { start + $0 }
    }
}
