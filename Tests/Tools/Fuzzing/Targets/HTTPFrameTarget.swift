import PusherCore
import PusherProtocol

/// Checks that the reader of HTTP frames agrees with a plain reader for every split. The plain reader gets the whole
/// response at once.
///
/// Input: a byte for the number of lengths, a byte for the length of each piece, a byte for the largest message in
/// units of eight bytes, and the response. In the response, `{pad}` stands for 1,000 bytes.
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
            require(result == expected, "the result is \(result), expected \(expected)")
        }
        // The reader must stop when the closure returns false.
        let first = read([response], limit, mostFrames: 1)
        require(
            first.frames == Array(expected.frames.prefix(1)),
            "the reader did not stop after one frame: \(first), of \(expected)"
        )
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
