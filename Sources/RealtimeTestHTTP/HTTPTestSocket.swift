import Foundation
package import NIOCore
import RealtimePrimitives

/// The server's end of a WebSocket. It writes bytes instead of frames to the pipeline, so that faults can write anything
/// between frames.
package final class HTTPTestSocket: Sendable {
    /// The rules of RFC 6455 for clients, and the limit of a message.
    package struct Rules: Sendable {
        /// The longest message, in bytes. A longer one is a violation with code 1009.
        package var maximumMessageSize: Int
        /// Whether frames without a mask are a violation.
        package var requiresMasks = true
        /// Whether reserved bits and opcodes are a violation.
        package var forbidsReserved = true
        /// Whether text that is not UTF-8 is a violation.
        package var requiresUTF8 = true

        package init(maximumMessageSize: Int) { self.maximumMessageSize = maximumMessageSize }
    }

    package enum Event: Hashable, Sendable {
        case message(isText: Bool, [UInt8])
        case ping([UInt8])
        case pong([UInt8])
        case close(code: Int?, reason: String)
        /// A violation of the rules, with the close code for the server's answer. Only a close frame can follow.
        case violation(code: Int, reason: String)
    }

    package enum Opcode: UInt8, Sendable {
        case continuation = 0x0
        case text = 0x1
        case binary = 0x2
        case close = 0x8
        case ping = 0x9
        case pong = 0xA
    }

    package let channel: any Channel

    init(_ channel: any Channel) { self.channel = channel }

    /// Returns the value of `Sec-WebSocket-Accept` for a key (RFC 6455, 4.2.2).
    static func accept(key: String) -> String {
        let bytes = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
        return Data(SHA1.digest(of: bytes)).base64EncodedString()
    }

    /// Whether more bytes than the limit wait for the client. Call this on the event loop. Ask before a write, so that
    /// one large message does not end the connection of a client that reads.
    package func hasUnsentBytes(beyond limit: Int) -> Bool { channel.hasUnsentBytes(beyond: limit) }

    /// Writes a frame without a mask (RFC 6455, 5.2), which the next ``flush()`` sends.
    package func send(_ opcode: Opcode, _ payload: some Collection<UInt8>, isFinal: Bool = true) {
        var buffer = channel.allocator.buffer(capacity: payload.count + 10)
        buffer.writeInteger((isFinal ? 0x80 : 0) | opcode.rawValue)
        switch payload.count {
        case ...125:
            buffer.writeInteger(UInt8(truncatingIfNeeded: payload.count))
        case ...0xFFFF:
            buffer.writeInteger(UInt8(126))
            buffer.writeInteger(UInt16(truncatingIfNeeded: payload.count))
        default:
            buffer.writeInteger(UInt8(127))
            buffer.writeInteger(UInt64(payload.count))
        }
        buffer.writeBytes(payload)
        channel.write(buffer, promise: nil)
    }

    /// Writes a close frame. The payload has at most 125 bytes, so a long reason is shortened, but never within a
    /// character.
    package func sendClose(code: Int?, reason: String = "") {
        guard let code else { return send(.close, []) }
        let bits = UInt16(truncatingIfNeeded: code)
        var payload = [UInt8(bits >> 8), UInt8(bits & 0xFF)]
        for character in reason {
            guard payload.count + character.utf8.count <= 125 else { break }
            payload += Array(character.utf8)
        }
        send(.close, payload)
    }

    /// Writes bytes outside of any frame.
    package func sendBytes(_ bytes: [UInt8]) { channel.write(channel.allocator.buffer(bytes: bytes), promise: nil) }

    package func flush() { channel.flush() }

    /// Sends all output, and then closes the TCP connection. Call this on the event loop.
    package func end() { channel.endTransportAfterFlush() }

    /// Closes the TCP connection at once. Call this on the event loop.
    package func drop() { channel.endTransport() }
}

extension Channel {
    /// Returns whether more bytes than the limit wait for the client. Call this on the event loop.
    package func hasUnsentBytes(beyond limit: Int) -> Bool {
        // A writable channel has few unsent bytes.
        guard !isWritable, let size = try? syncOptions?.getOption(.bufferedWritableBytes) else { return false }
        return size > limit
    }
}
