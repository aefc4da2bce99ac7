/// The digest SHA-1 (RFC 3174). A server uses this digest to prove that it understands the WebSocket upgrade (RFC
/// 6455).
///
/// SHA-1 is broken, but the security of a connection does not depend on this digest.
package enum SHA1 {
    package static func digest(of bytes: [UInt8]) -> [UInt8] {
        var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
        var words = [UInt32](repeating: 0, count: 80)
        DigestBlocks.forEach(in: bytes, bitCount: (UInt64(bytes.count) &* 8).bigEndian) { block in
            add(block, to: &state, with: &words)
        }
        return state.flatMap { word in withUnsafeBytes(of: word.bigEndian) { Array($0) } }
    }

    /// - Parameter words: Memory for one block. The digest reuses the memory for each block.
    private static func add(
        _ block: UnsafeRawBufferPointer,
        to state: inout [UInt32],
        with words: inout [UInt32]
    ) {
        // The code uses `while`, because a loop over a range is many times slower in a build without optimization.
        var step = 0
        while step < 16 {
            words[step] = UInt32(bigEndian: block.loadUnaligned(fromByteOffset: step &* 4, as: UInt32.self))
            step &+= 1
        }
        while step < 80 {
            words[step] =
                (words[step &- 3] ^ words[step &- 8] ^ words[step &- 14] ^ words[step &- 16]).rotated(by: 1)
            step &+= 1
        }
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        step = 0
        while step < 80 {
            let (mixed, constant): (UInt32, UInt32) =
                switch step / 20 {
                case 0: ((b & c) | (~b & d), 0x5A82_7999)
                case 1: (b ^ c ^ d, 0x6ED9_EBA1)
                case 2: ((b & c) | (b & d) | (c & d), 0x8F1B_BCDC)
                default: (b ^ c ^ d, 0xCA62_C1D6)
                }
            let next = a.rotated(by: 5) &+ mixed &+ e &+ constant &+ words[step]
            (e, d, c, b, a) = (d, c, b.rotated(by: 30), a, next)
            step &+= 1
        }
        state[0] &+= a
        state[1] &+= b
        state[2] &+= c
        state[3] &+= d
        state[4] &+= e
    }
}
