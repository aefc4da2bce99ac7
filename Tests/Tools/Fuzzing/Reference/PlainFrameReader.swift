import NIOCore
import PusherClient
import PusherProtocol
import WebSocketClient

/// Reads WebSocket frames according to RFC 6455. The reader gets the whole stream at once.
enum PlainFrameReader {
    struct Result {
        var outputs: [WebSocketFrameReader.Output] = []
        var fragments = 0
        /// The close code for the violation, or nil if the stream is valid.
        var violation: Int?
    }

    private struct Wrong: Error { var code: Int }

    static func read(_ stream: [UInt8], maximumMessageSize: Int) -> Result {
        var result = Result()
        do {
            try read(stream, maximumMessageSize, into: &result)
        } catch let wrong as Wrong {
            result.violation = wrong.code
        } catch {}
        return result
    }

    private static func read(_ stream: [UInt8], _ limit: Int, into result: inout Result) throws {
        var index = 0
        var message: [UInt8]?
        var isText = false
        while index < stream.count {
            let first = stream[index]
            let opcode = first & 0x0F
            let isControl = opcode & 8 != 0
            if first & 0x70 != 0 || ![0, 1, 2, 8, 9, 10].contains(opcode) || (isControl && first < 0x80) {
                throw Wrong(code: 1002)
            }
            guard index + 1 < stream.count else { return }
            let second = stream[index + 1]
            if second & 0x80 != 0 || (isControl && second > 125) { throw Wrong(code: 1002) }
            let lengthSize = second == 126 ? 2 : second == 127 ? 8 : 0
            var start = index + 2 + lengthSize
            guard start <= stream.count else { return }
            var length = UInt64(second)
            if lengthSize > 0 { length = stream[index + 2..<start].reduce(0) { $0 << 8 | UInt64($1) } }
            if lengthSize == 2, length < 126 { throw Wrong(code: 1002) }
            if lengthSize == 8, length < 65_536 || length >> 63 == 1 { throw Wrong(code: 1002) }
            if !isControl {
                if (opcode == 0) != (message != nil) { throw Wrong(code: 1002) }
                if length > UInt64(limit - (message?.count ?? 0)) { throw Wrong(code: 1009) }
                if opcode != 0 { isText = opcode == 1 }
            }
            let end = start + Int(length)
            guard isControl || end > stream.count else {
                // The stream contains the whole frame.
                let whole = (message ?? []) + stream[start..<end]
                index = end
                message = whole
                if first < 0x80 {
                    if isText, !whole.isBeginningOfText { throw Wrong(code: 1007) }
                    result.fragments += 1
                } else {
                    if isText, String(validating: whole, as: UTF8.self) == nil { throw Wrong(code: 1007) }
                    result.outputs.append(isText ? .text(ByteBuffer(bytes: whole)) : .binary(ByteBuffer(bytes: whole)))
                    message = nil
                }
                continue
            }
            guard isControl else {
                let begun = (message ?? []) + stream[start...]
                if isText, !begun.isBeginningOfText { throw Wrong(code: 1007) }
                return
            }
            guard end <= stream.count else { return }
            start = min(start, end)
            if try control(opcode, Array(stream[start..<end]), into: &result) { return }
            index = end
        }
    }

    /// Reads a control frame. Returns true if no frame may follow this one.
    private static func control(_ opcode: UInt8, _ payload: [UInt8], into result: inout Result) throws -> Bool {
        switch opcode {
        case 9: result.outputs.append(.ping(ByteBuffer(bytes: payload)))
        case 10: result.outputs.append(.pong(ByteBuffer(bytes: payload)))
        default:
            guard payload.count != 1 else { throw Wrong(code: 1002) }
            guard payload.count >= 2 else {
                result.outputs.append(.close(.noStatusReceived, ""))
                return true
            }
            let code = Int(payload[0]) << 8 | Int(payload[1])
            let isAllowed = (1000...4999).contains(code) && ![1004, 1005, 1006].contains(code)
            guard isAllowed, !(1015...2999).contains(code) else { throw Wrong(code: 1002) }
            guard let reason = String(validating: payload.dropFirst(2), as: UTF8.self) else { throw Wrong(code: 1007) }
            result.outputs.append(.close(WebSocketCloseCode(rawValue: code), reason))
            return true
        }
        return false
    }
}
