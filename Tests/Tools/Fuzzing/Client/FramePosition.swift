/// A position in a stream of frames: between two frames, or inside a frame.
struct FramePosition {
    private var header: [UInt8] = []
    private var payloadLeft = 0

    /// Whether the next byte begins a frame.
    var isBetweenFrames: Bool { header.isEmpty && payloadLeft == 0 }

    mutating func advance(over bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            guard payloadLeft == 0 else {
                let count = min(payloadLeft, rest.count)
                rest.removeFirst(count)
                payloadLeft -= count
                continue
            }
            header.append(rest.removeFirst())
            guard header.count >= 2 else { continue }
            let length = Int(header[1] & 0x7F)
            let lengthSize = length < 126 ? 0 : length == 126 ? 2 : 8
            guard header.count == 2 + lengthSize else { continue }
            let extended = header[2...].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            payloadLeft = lengthSize == 0 ? length : Int(clamping: extended)
            header = []
        }
    }
}
