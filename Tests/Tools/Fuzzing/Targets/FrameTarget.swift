import NIOCore
import PusherClient
import PusherProtocol
import WebSocketClient

/// The frame reader agrees with a plain one that sees the whole stream at once, however it is split.
///
/// Input: the number of bytes with the lengths of pieces, those bytes, the size of the largest message as two bytes,
/// and the stream.
enum FrameTarget {
    static func run(_ input: [UInt8]) {
        var reader = InputReader(input)
        let lengths = reader.bytes(Int(reader.byte() % 8))
        let limit = Int(reader.byte()) * 2
        let stream = reader.remaining()
        let expected = PlainFrameReader.read(stream, maximumMessageSize: limit)
        for pieces in [stream.pieces(lengths), [stream], stream.map { [$0] }] {
            check(pieces, limit, expected, textsInPlace: false)
            check(pieces, limit, expected, textsInPlace: true)
        }
    }

    private static func check(
        _ pieces: [[UInt8]],
        _ limit: Int,
        _ expected: PlainFrameReader.Result,
        textsInPlace: Bool
    ) {
        var reader = WebSocketFrameReader(maximumMessageSize: limit)
        var outputs: [WebSocketFrameReader.Output] = []
        var violation: WebSocketViolation?
        reading: for piece in pieces {
            reader.append(ByteBuffer(bytes: piece))
            do {
                repeat {
                    if textsInPlace {
                        reader.readTexts { text in
                            outputs.append(.text(text.withUnsafeBytes { ByteBuffer(bytes: $0) }))
                            return true
                        }
                    }
                    guard let output = try reader.next() else { break }
                    outputs.append(output)
                    // No frame follows a close frame.
                    if case .close = output { break reading }
                } while true
            } catch {
                violation = error
                break
            }
        }
        for output in outputs { check(output, limit) }
        require(
            violation?.closeCode.rawValue == expected.violation,
            "\(String(describing: violation)), not \(expected)"
        )
        // A text may be rejected before it is complete.
        require(outputs.filter { $0 != .fragment } == expected.outputs, "\(outputs), not \(expected)")
        let fragments = outputs.count { $0 == .fragment }
        require(fragments == expected.fragments, "\(fragments) fragments, not \(expected)")
    }

    private static func check(_ output: WebSocketFrameReader.Output, _ limit: Int) {
        switch output {
        case .text(let payload):
            require(payload.readableBytes <= limit, "a text is larger than \(limit)")
            require(String(validating: payload.readableBytesView, as: UTF8.self) != nil, "a text is not UTF-8")
        case .binary(let payload): require(payload.readableBytes <= limit, "a binary message is larger than \(limit)")
        case .ping(let payload), .pong(let payload):
            require(payload.readableBytes <= 125, "a control frame is larger than 125")
        case .close(_, let reason): require(reason.utf8.count <= 123, "a reason is larger than 123")
        case .fragment: break
        }
    }
}
