/// Frames in the form in which a server sends them, without a mask.
package enum ServerFrame {
    /// - Parameter first: The first byte: the bit of the last frame, the reserved bits, and the opcode.
    package static func bytes(_ first: UInt8, _ payload: some Collection<UInt8>) -> [UInt8] {
        let count = payload.count
        let length: [UInt8] =
            switch count {
            case ...125: [UInt8(count)]
            case ...65_535: [126, UInt8(count >> 8), UInt8(count & 0xFF)]
            default: [127] + (0..<8).map { UInt8(truncatingIfNeeded: count >> (56 - 8 * $0)) }
            }
        return [first] + length + payload
    }

    package static func text(_ text: String) -> [UInt8] { bytes(0x81, text.utf8) }
}
