import Foundation
import PusherEncryption
import TestSupport
import TestTraits
import Testing

/// Compares the decoder with Foundation's decoder.
@Suite("Base64", .limited)
struct Base64Tests {
    /// Decodes into memory of exactly the requested size, and checks the byte after this memory.
    private func decoded(_ text: String) -> Data? { decoded(Array(text.utf8)) }

    private func decoded(_ bytes: [UInt8]) -> Data? {
        let capacity = Base64.capacity(forCharacters: bytes.count)
        var memory = [UInt8](repeating: 0xEE, count: capacity + 1)
        let count = memory.withUnsafeMutableBytes { memory in
            Base64.decode(bytes.span, into: UnsafeMutableRawBufferPointer(rebasing: memory[..<capacity]))
        }
        #expect(memory[capacity] == 0xEE)
        return count.map { Data(memory[..<$0]) }
    }

    @Test("bytes of any number and value are unchanged after encoding and decoding")
    func everyLength() {
        var generator = SeededGenerator(seed: 1)
        for count in 0..<300 {
            let bytes = Data((0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) })
            #expect(decoded(bytes.base64EncodedString()) == bytes)
        }
        let all = Data(0...255)
        #expect(decoded(all.base64EncodedString()) == all)
    }

    @Test("a string with a byte outside the alphabet is invalid", arguments: [4, 16, 20, 48, 64])
    func everyByte(count: Int) {
        let text = Array(repeating: UInt8(ascii: "Q"), count: count)
        let alphabet = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        for place in 0..<count {
            for byte in UInt8.min...UInt8.max where !(byte == UInt8(ascii: "=") && place == count - 1) {
                var changed = text
                changed[place] = byte
                #expect((decoded(changed) != nil) == alphabet.contains(byte), "\(byte) at \(place)")
            }
        }
    }

    /// Foundation's decoder is less strict: it continues after padding, and accepts too much or too little padding.
    @Test(
        "Foundation decodes every damaged string that the decoder accepts to the same bytes",
        arguments: 0..<50 as Range<UInt64>
    )
    func damaged(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            let bytes = Data((0..<Int.random(in: 0..<40, using: &generator)).map { _ in 7 })
            var text = Array(bytes.base64EncodedString().utf8)
            for _ in 0...Int.random(in: 0..<3, using: &generator) where !text.isEmpty {
                let index = Int.random(in: text.indices, using: &generator)
                let byte = Array("=A/-_ \n".utf8).randomElement(using: &generator) ?? 0
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: text[index] = byte
                case 1: text.insert(byte, at: index)
                default: text.remove(at: index)
                }
            }
            let damaged = String(decoding: text, as: UTF8.self)
            guard let bytes = decoded(damaged) else { continue }
            #expect(bytes == Data(base64Encoded: damaged), "\(damaged)")
        }
    }

    @Test(
        "padding is valid only at the end, and only up to two characters",
        arguments: ["AA==AAAA", "AAAA====", "A===", "====", "=", "AA=", "AAA=AAAAAAAAAAAAAAAA", "AA=A"]
    )
    func padding(text: String) {
        #expect(decoded(text) == nil)
    }

    @Test("the decoder does not change a buffer that is too small")
    func tooSmall() {
        let text = Array("AAAA".utf8)
        var memory: [UInt8] = [1, 2, 3]
        let count = memory.withUnsafeMutableBytes { Base64.decode(text.span, into: $0) }
        #expect(count == nil && memory == [1, 2, 3])
    }
}
