import NIOCore
import NIOHTTP1

/// Collects the start of the body of a response (RFC 9112, section 6).
struct ResponseBody {
    private enum Stage {
        /// The number of bytes of the body that have not arrived.
        case counted(Int)
        case untilClose
        case chunkSize
        /// The number of bytes of the chunk that have not arrived.
        case chunk(Int)
        /// The line break after a chunk.
        case chunkEnd
        case complete
    }

    static let maximumSize = 65_536
    /// The longest line with the size of a chunk and its extensions.
    private static let maximumLineSize = 1_024

    private(set) var bytes: [UInt8] = []
    private var stage: Stage
    private var line: [UInt8] = []

    init(of status: Int, _ headers: HTTPHeaders) {
        let lengths = Set(headers["content-length"])
        if status == 204 || status == 304 {
            stage = .complete
        } else if headers[canonicalForm: "transfer-encoding"].contains(where: { $0.lowercased() == "chunked" }) {
            stage = .chunkSize
        } else if lengths.count == 1, let length = lengths.first.flatMap({ Int($0) }), length >= 0 {
            stage = length == 0 ? .complete : .counted(length)
        } else {
            stage = .untilClose
        }
    }

    /// Whether the body is complete, or has reached the limit.
    var isComplete: Bool { if case .complete = stage { true } else { bytes.count >= Self.maximumSize } }

    /// Removes bytes of the body from the buffer. An invalid chunk counts as the end of the body.
    mutating func read(_ buffer: inout ByteBuffer) {
        while !isComplete, buffer.readableBytes > 0 {
            switch stage {
            case .counted(let count):
                let rest = count - take(count, from: &buffer)
                stage = rest == 0 ? .complete : .counted(rest)
            case .untilClose: _ = take(buffer.readableBytes, from: &buffer)
            case .chunk(let count):
                let rest = count - take(count, from: &buffer)
                stage = rest == 0 ? .chunkEnd : .chunk(rest)
            case .chunkSize, .chunkEnd: readLine(&buffer)
            case .complete: return
            }
        }
    }

    private mutating func take(_ count: Int, from buffer: inout ByteBuffer) -> Int {
        let part = buffer.readBytes(length: min(count, buffer.readableBytes, Self.maximumSize - bytes.count)) ?? []
        bytes += part
        return part.count
    }

    private mutating func readLine(_ buffer: inout ByteBuffer) {
        guard let byte = buffer.readInteger(as: UInt8.self) else { return }
        guard byte == UInt8(ascii: "\n") else {
            line.append(byte)
            if line.count > Self.maximumLineSize { stage = .complete }
            return
        }
        defer { line = [] }
        if case .chunkEnd = stage {
            stage = .chunkSize
            return
        }
        let digits = line.prefix { Character(Unicode.Scalar($0)).isHexDigit }
        guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16), size > 0 else {
            return stage = .complete
        }
        stage = .chunk(size)
    }
}
