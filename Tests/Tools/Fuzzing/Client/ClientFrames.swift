/// Parses the client's output, and requires valid frames.
struct ClientFrames {
    struct Frame {
        var opcode: UInt8
        var payload: [UInt8]
    }

    private var bytes: [UInt8] = []

    mutating func append(_ more: [UInt8]) { bytes += more }

    /// Returns the next complete frame; nil if there is none.
    mutating func next() -> Frame? {
        guard bytes.count >= 2 else { return nil }
        require(bytes[0] & 0xF0 == 0x80, "the client sends a fragment or reserved bits")
        require(bytes[1] & 0x80 != 0, "the client sends an unmasked frame")
        let opcode = bytes[0] & 0x0F
        require([1, 2, 8, 9, 10].contains(opcode), "the client sends the opcode \(opcode)")
        var length = Int(bytes[1] & 0x7F)
        var start = 2
        if length >= 126 {
            start += length == 126 ? 2 : 8
            guard bytes.count >= start else { return nil }
            length = bytes[2..<start].reduce(0) { $0 << 8 | Int($1) }
        }
        require(opcode < 8 || length <= 125, "the client sends a control frame of \(length) bytes")
        guard bytes.count >= start + 4 + length else { return nil }
        let key = Array(bytes[start..<start + 4])
        let payload = bytes[(start + 4)...].prefix(length).enumerated().map { $1 ^ key[$0 % 4] }
        bytes.removeFirst(start + 4 + length)
        return Frame(opcode: opcode, payload: payload)
    }
}
