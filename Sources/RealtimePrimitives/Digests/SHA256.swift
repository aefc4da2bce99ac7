/// The digest SHA-256 (FIPS 180-4), for signatures, keys of encrypted channels and pins of public keys.
///
/// The code keeps the message in memory of its own, and wipes this memory, because the message may contain a key.
package enum SHA256 {
    package static let size = 32

    package static func digest(of bytes: [UInt8]) -> [UInt8] { bytes.withUnsafeBytes { digest(of: [$0]) } }

    /// Returns the digest of a message that consists of several parts.
    package static func digest(of parts: [UnsafeRawBufferPointer]) -> [UInt8] {
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: Digesting.wordCount) { words in
            withUnsafeTemporaryAllocation(byteCount: Digesting.blockSize, alignment: 1) { block in
                defer {
                    UnsafeMutableRawBufferPointer(words).wipe()
                    block.wipe()
                }
                guard let words = words.baseAddress else { return [] }
                var digesting = Digesting(words: words, block: block)
                for part in parts { digesting.add(part) }
                return digesting.finish()
            }
        }
    }
}

/// The work on one message.
private struct Digesting {
    static let blockSize = 64
    /// Eight words of state, and the 64 words that a block expands to.
    static let wordCount = 8 + 64

    private let state: UnsafeMutablePointer<UInt32>
    private let schedule: UnsafeMutablePointer<UInt32>
    /// The beginning of the next block.
    private let block: UnsafeMutableRawBufferPointer
    private var blockCount = 0
    private var byteCount: UInt64 = 0

    init(words: UnsafeMutablePointer<UInt32>, block: UnsafeMutableRawBufferPointer) {
        state = words
        schedule = words + 8
        self.block = block
        for (index, word) in Self.start.enumerated() { state[index] = word }
    }

    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        byteCount &+= UInt64(bytes.count)
        var offset = 0
        while offset < bytes.count {
            if blockCount == 0, bytes.count - offset >= Self.blockSize {
                addBlock(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + Self.blockSize]))
                offset += Self.blockSize
                continue
            }
            let count = min(Self.blockSize - blockCount, bytes.count - offset)
            UnsafeMutableRawBufferPointer(rebasing: block[blockCount...])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]))
            blockCount += count
            offset += count
            if blockCount == Self.blockSize { endBlock() }
        }
    }

    mutating func finish() -> [UInt8] {
        let bitCount = (byteCount &* 8).bigEndian
        let bitCountOffset = Self.blockSize - MemoryLayout<UInt64>.size
        block[blockCount] = 0x80
        blockCount += 1
        if blockCount > bitCountOffset {
            zero(upTo: Self.blockSize)
            endBlock()
        }
        zero(upTo: bitCountOffset)
        block.storeBytes(of: bitCount, toByteOffset: bitCountOffset, as: UInt64.self)
        endBlock()
        // One array, because the digest may be a key, and copies of its parts would not be wiped.
        return [UInt8](unsafeUninitializedCapacity: 32) { bytes, count in
            for index in 0..<8 {
                UnsafeMutableRawBufferPointer(bytes).storeBytes(
                    of: state[index].bigEndian,
                    toByteOffset: index * 4,
                    as: UInt32.self
                )
            }
            count = 32
        }
    }

    private func zero(upTo end: Int) {
        UnsafeMutableRawBufferPointer(rebasing: block[blockCount..<end])
            .initializeMemory(as: UInt8.self, repeating: 0)
    }

    private mutating func endBlock() {
        addBlock(UnsafeRawBufferPointer(block))
        blockCount = 0
    }

    private func addBlock(_ block: UnsafeRawBufferPointer) {
        // The code uses `while`, because a loop over a range is many times slower in a build without optimization.
        var step = 0
        while step < 16 {
            schedule[step] = UInt32(bigEndian: block.loadUnaligned(fromByteOffset: step &* 4, as: UInt32.self))
            step &+= 1
        }
        while step < 64 {
            let (old, recent) = (schedule[step &- 15], schedule[step &- 2])
            let first = old.rotated(by: 25) ^ old.rotated(by: 14) ^ (old &>> 3)
            let second = recent.rotated(by: 15) ^ recent.rotated(by: 13) ^ (recent &>> 10)
            schedule[step] = schedule[step &- 16] &+ first &+ schedule[step &- 7] &+ second
            step &+= 1
        }
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = (state[4], state[5], state[6], state[7])
        step = 0
        Self.constants.withUnsafeBufferPointer { constants in
            while step < 64 {
                let rotated = e.rotated(by: 26) ^ e.rotated(by: 21) ^ e.rotated(by: 7)
                let first = h &+ rotated &+ ((e & f) ^ (~e & g)) &+ constants[step] &+ schedule[step]
                let other = a.rotated(by: 30) ^ a.rotated(by: 19) ^ a.rotated(by: 10)
                let second = other &+ ((a & b) ^ (a & c) ^ (b & c))
                h = g
                g = f
                f = e
                e = d &+ first
                d = c
                c = b
                b = a
                a = first &+ second
                step &+= 1
            }
        }
        state[0] &+= a
        state[1] &+= b
        state[2] &+= c
        state[3] &+= d
        state[4] &+= e
        state[5] &+= f
        state[6] &+= g
        state[7] &+= h
    }

    private static let start: [UInt32] = [
        0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19,
    ]

    private static let constants: [UInt32] = [
        0x428A_2F98, 0x7137_4491, 0xB5C0_FBCF, 0xE9B5_DBA5, 0x3956_C25B, 0x59F1_11F1, 0x923F_82A4, 0xAB1C_5ED5,
        0xD807_AA98, 0x1283_5B01, 0x2431_85BE, 0x550C_7DC3, 0x72BE_5D74, 0x80DE_B1FE, 0x9BDC_06A7, 0xC19B_F174,
        0xE49B_69C1, 0xEFBE_4786, 0x0FC1_9DC6, 0x240C_A1CC, 0x2DE9_2C6F, 0x4A74_84AA, 0x5CB0_A9DC, 0x76F9_88DA,
        0x983E_5152, 0xA831_C66D, 0xB003_27C8, 0xBF59_7FC7, 0xC6E0_0BF3, 0xD5A7_9147, 0x06CA_6351, 0x1429_2967,
        0x27B7_0A85, 0x2E1B_2138, 0x4D2C_6DFC, 0x5338_0D13, 0x650A_7354, 0x766A_0ABB, 0x81C2_C92E, 0x9272_2C85,
        0xA2BF_E8A1, 0xA81A_664B, 0xC24B_8B70, 0xC76C_51A3, 0xD192_E819, 0xD699_0624, 0xF40E_3585, 0x106A_A070,
        0x19A4_C116, 0x1E37_6C08, 0x2748_774C, 0x34B0_BCB5, 0x391C_0CB3, 0x4ED8_AA4A, 0x5B9C_CA4F, 0x682E_6FF3,
        0x748F_82EE, 0x78A5_636F, 0x84C8_7814, 0x8CC7_0208, 0x90BE_FFFA, 0xA450_6CEB, 0xBEF9_A3F7, 0xC671_78F2,
    ]
}
