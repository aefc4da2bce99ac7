import NIOCore
import WebSocketClient

/// The answer to an upgrade means the same however it is split, and later bytes are untouched.
///
/// Input: the number of bytes with the lengths of pieces, those bytes, and the answer. In it `{accept}` stands for the
/// right `Sec-WebSocket-Accept`, and `{pad}` for 1,000 bytes.
enum UpgradeTarget {
    /// The key of RFC 6455, section 1.3.
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
        require(outcome(of: answer.pieces(lengths), upgrade) == whole, "in pieces it is not \(whole)")
        require(outcome(of: answer.map { [$0] }, upgrade) == whole, "byte by byte it is not \(whole)")
        switch whole {
        case .incomplete: require(answer.count <= 16_384, "\(answer.count) bytes are kept")
        case .upgraded(let rest):
            require(answer.suffix(rest.count) == rest[...], "what follows the answer is changed")
            require(answer.dropLast(rest.count).last == UInt8(ascii: "\n"), "the answer does not end with a line")
            require(answer.count - rest.count <= 16_384, "a header of \(answer.count - rest.count) bytes is taken")
            require(answer.text.contains(accept), "an upgrade without the right key is taken")
        case .refused(let reason): require(reason.utf8.count < 500, "the error has \(reason.utf8.count) bytes")
        }
    }

    private static func outcome(of pieces: [[UInt8]], _ upgrade: UpgradeRequest) -> Outcome {
        var reader = UpgradeResponseReader(upgrade)
        for (index, piece) in pieces.enumerated() {
            var bytes = ByteBuffer(bytes: piece)
            do {
                guard try reader.read(&bytes) else {
                    require(bytes.readableBytes == 0, "bytes are left over")
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
