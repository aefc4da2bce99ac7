import PusherCore
import PusherProtocol

/// The reader of HTTP frames makes of a response what a plain one does that sees all of it at once, however it is cut.
///
/// Input: the number of bytes for the lengths of pieces, those, the size of the largest message by eight, the response. In it
/// `{pad}` stands for 1,000 bytes.
enum HTTPFrameTarget {
    private static let joinedSize = 64

    static func run(_ input: [UInt8]) {
        var reader = InputReader(input)
        let lengths = reader.bytes(Int(reader.byte() % 8))
        let limit = Int(reader.byte()) * 8
        let response = reader.remaining().padded
        let expected = PlainHTTPFrameReader.read(response, maximumMessageSize: limit, joinedSize: joinedSize)
        for pieces in [[response], response.pieces(lengths), response.map { [$0] }] {
            let result = read(pieces, limit)
            require(result == expected, "\(result), not \(expected)")
        }
        // A receiver that stops gets no more.
        let first = read([response], limit, mostFrames: 1)
        require(first.frames == Array(expected.frames.prefix(1)), "\(first) at once, not the first of \(expected)")
    }

    private static func read(_ pieces: [[UInt8]], _ limit: Int, mostFrames: Int = .max) -> PlainHTTPFrameReader.Result {
        var reader = HTTPFrameReader(maximumMessageSize: limit, joinedSize: joinedSize)
        var result = PlainHTTPFrameReader.Result()
        do throws(HTTPFrameViolation) {
            for piece in pieces {
                let hasGoneOn = try reader.read(piece.span) { frame in
                    result.frames.append(PlainHTTPFrameReader.Frame(frame))
                    return result.frames.count < mostFrames
                }
                guard hasGoneOn else { break }
                reader.releaseMemory()
            }
            result.isAtFrameEnd = reader.isAtFrameEnd
        } catch {
            result.violation = error
        }
        return result
    }
}

extension PlainHTTPFrameReader.Frame {
    fileprivate init(_ frame: borrowing HTTPFrame) {
        switch frame {
        case .open(let hostname): self = .open(hostname: hostname)
        case .message(let bytes):
            let text = bytes.withUnsafeBufferPointer { String(validating: $0, as: UTF8.self) }
            require(text != nil, "a message is not UTF-8")
            self = .message(text ?? "")
        case .heartbeat(let wantsAnswer): self = .heartbeat(wantsAnswer: wantsAnswer)
        case .close(let code, let reason): self = .close(code: code.rawValue, reason: reason)
        }
    }
}
