import NIOCore
import Workload

/// Frames of events, which are made once and can be sent again. All frames have the same size, so any number of frames
/// is a slice.
struct EventFrames {
    let bytes: ByteBuffer
    let frameSize: Int
    let count: Int

    /// Makes enough frames for all channels and for large writes.
    init(_ workload: Workload) {
        let sealed = workload.kind == .encrypted
        let json = Payload.json(size: workload.size)
        let channels = max(workload.channels, 1)
        let frames = (0..<channels).map { index in
            let data = sealed ? SealedPayload.data(json) : json
            return WebSocketText.frame(
                Payload.envelope(event: Workload.eventName, channel: workload.channelName(index), data: data)
            )
        }
        self.init(frames, minimumSize: 512 * 1_024)
    }

    /// Makes the same events as frames of an HTTP transport, which are lines.
    init(linesOf workload: Workload) {
        let json = Payload.json(size: workload.size)
        let lines = (0..<max(workload.channels, 1)).map { index in
            let message = Payload.envelope(event: Workload.eventName, channel: workload.channelName(index), data: json)
            return Array("a[\"\(Payload.escaped(message))\"]\n".utf8)
        }
        self.init(lines, minimumSize: 512 * 1_024)
    }

    /// Makes joins of members, and then leaves of the same members.
    init(stormOf members: Int, on channel: String) {
        let events = [PresenceText.memberAdded, PresenceText.memberRemoved]
        let frames = events.flatMap { event in
            (0..<members).map { WebSocketText.frame(event(channel, $0)) }
        }
        self.init(frames, minimumSize: 0)
    }

    /// Makes calls of a SignalR client, or the items of a stream.
    init(_ load: HubLoad, stream: String? = nil) {
        let message = stream.map { load.item(of: $0) } ?? load.message
        self.init(
            [WebSocketText.header(message.count, isBinary: load.kind == .messagePack) + message],
            minimumSize: 512 * 1_024
        )
    }

    private init(_ frames: [[UInt8]], minimumSize: Int) {
        let sum = frames.reduce(0) { $0 + $1.count }
        let repetitions = max(1, (minimumSize + sum - 1) / max(sum, 1))
        var bytes = ByteBuffer()
        bytes.reserveCapacity(sum * repetitions)
        for _ in 0..<repetitions {
            for frame in frames { bytes.writeBytes(frame) }
        }
        self.bytes = bytes
        count = frames.count * repetitions
        frameSize = count == 0 ? 0 : bytes.readableBytes / count
        precondition(frames.allSatisfy { $0.count == frameSize }, "the frames differ in size")
    }

    /// Returns the wanted number of frames from an index on, or fewer at the end.
    func slice(from first: Int, count wanted: Int) -> (bytes: ByteBuffer, count: Int) {
        let taken = min(wanted, count - first)
        let slice = bytes.getSlice(at: bytes.readerIndex + first * frameSize, length: taken * frameSize)
        return (slice ?? ByteBuffer(), taken)
    }
}

/// An unmasked frame of a server, usually with text.
enum WebSocketText {
    static func frame(_ text: String) -> [UInt8] {
        header(text.utf8.count) + text.utf8
    }

    static func header(_ count: Int, isBinary: Bool = false) -> [UInt8] {
        var bytes: [UInt8] = [isBinary ? 0x82 : 0x81]
        switch count {
        case ..<126: bytes.append(UInt8(count))
        case ..<65_536: bytes += [126, UInt8(count >> 8), UInt8(count & 0xFF)]
        default:
            bytes.append(127)
            for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(count >> shift & 0xFF)) }
        }
        return bytes
    }
}
