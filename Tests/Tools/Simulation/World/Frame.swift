import ClientTestSupport
import PusherClient
import PusherProtocol
import WebSocketClient

/// Encodes frames as a server sends them.
enum Frame {
    /// - Parameter fragments: The number of frames for the message.
    static func encode(_ opcode: WebSocketOpcode, _ payload: [UInt8], fragments: Int = 1) -> [UInt8] {
        var bytes: [UInt8] = []
        let size = max(1, (payload.count + fragments - 1) / max(1, fragments))
        var start = 0
        repeat {
            let end = min(payload.count, start + size)
            let first: UInt8 = start == 0 ? opcode.rawValue : 0
            bytes += ServerFrame.bytes(end == payload.count ? 0x80 | first : first, payload[start..<end])
            start = end
        } while start < payload.count
        return bytes
    }

    static func close(_ code: Int?, _ reason: String) -> [UInt8] {
        guard let code, let number = UInt16(exactly: code) else { return encode(.close, []) }
        return encode(.close, [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)] + reason.utf8.prefix(123))
    }
}
