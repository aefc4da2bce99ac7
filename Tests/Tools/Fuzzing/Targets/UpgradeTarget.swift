import NIOCore
import WebSocketClient

/// Checks that the answer to an upgrade has the same result for every split. The client leaves later bytes untouched.
///
/// Input: a byte for the number of lengths, a byte for the length of each piece, and the answer. In the answer,
/// `{accept}` stands for the right `Sec-WebSocket-Accept`. `{pad}` stands for 1,000 bytes.
enum UpgradeTarget {
    /// The example key of RFC 6455, section 1.3.
    private static let key = "dGhlIHNhbXBsZSBub25jZQ=="
    private static let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

    private enum Outcome: Equatable {
        case incomplete
        case upgraded(rest: [UInt8])
        case refused(String)
    }

    static func run(_ input: [UInt8]) {
        var reader = InputReader(input)
        let lengths = reader.bytes(Int(reader.byte() % 8))
        let answer = reader.remaining().padded.replacing("{accept}".utf8, with: accept.utf8)
        let request = WebSocketRequest(host: "server.test", port: 80, useTLS: false, path: "/app/key")
        guard let upgrade = try? UpgradeRequest(request, key: key) else { return require(false, "no request") }
        let whole = outcome(of: [answer], upgrade)
        require(outcome(of: answer.pieces(lengths), upgrade) == whole, "the pieces do not give \(whole)")
        require(outcome(of: answer.map { [$0] }, upgrade) == whole, "the single bytes do not give \(whole)")
        switch whole {
        case .incomplete: require(answer.count <= 16_384, "the client keeps \(answer.count) bytes")
        case .upgraded(let rest):
            require(answer.suffix(rest.count) == rest[...], "the bytes after the answer are changed")
            require(answer.dropLast(rest.count).last == UInt8(ascii: "\n"), "the answer does not end with a line feed")
            require(
                answer.count - rest.count <= 16_384,
                "the client accepts a header of \(answer.count - rest.count) bytes"
            )
            require(answer.text.contains(accept), "the client accepts an upgrade without the correct key")
        case .refused(let reason): require(reason.utf8.count < 500, "the error has \(reason.utf8.count) bytes")
        }
    }

    private static func outcome(of pieces: [[UInt8]], _ upgrade: UpgradeRequest) -> Outcome {
        let reader = UpgradeResponseReader(upgrade)
        for (index, piece) in pieces.enumerated() {
            var bytes = ByteBuffer(bytes: piece)
            do {
                guard try reader.read(&bytes) else {
                    require(bytes.readableBytes == 0, "the client does not use all bytes")
                    continue
                }
                return .upgraded(rest: Array(bytes.readableBytesView) + pieces[(index + 1)...].joined())
            } catch {
                return .refused(error.message)
            }
        }
        return .incomplete
    }
}
