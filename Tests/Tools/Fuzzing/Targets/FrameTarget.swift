import NIOCore
import PusherClient
import PusherProtocol
import WebSocketClient

/// Checks that the frame reader agrees with a plain reader for every split. The plain reader gets the whole stream at
/// once.
///
/// Input: a byte for the number of lengths, a byte for the length of each piece, a byte for the largest message in
/// units of two bytes, and the stream.
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
            "the violation is \(String(describing: violation)), expected \(expected)"
        )
        require(
            outputs.filter { $0 != .fragment } == expected.outputs,
            "the outputs are \(outputs), expected \(expected)"
        )
        let fragments = outputs.count { $0 == .fragment }
        require(fragments == expected.fragments, "the reader reports \(fragments) fragments, expected \(expected)")
    }

    private static func check(_ output: WebSocketFrameReader.Output, _ limit: Int) {
        switch output {
        case .text(let payload):
            require(payload.readableBytes <= limit, "a text message is larger than \(limit) bytes")
            require(String(validating: payload.readableBytesView, as: UTF8.self) != nil, "a text message is not UTF-8")
        case .binary(let payload):
            require(payload.readableBytes <= limit, "a binary message is larger than \(limit) bytes")
        case .ping(let payload), .pong(let payload):
            require(payload.readableBytes <= 125, "a control frame is larger than 125 bytes")
        case .close(_, let reason): require(reason.utf8.count <= 123, "a close reason is larger than 123 bytes")
        case .compressed: require(false, "a message is compressed without an agreement")
        case .fragment: break
        }
    }
}
