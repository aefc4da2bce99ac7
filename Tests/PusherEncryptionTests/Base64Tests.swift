import Foundation
import PusherEncryption
import TestSupport
import Testing

/// Foundation's is the second opinion.
@Suite("Base64")
struct Base64Tests {
    /// In memory of just the size that is asked for, with a mark behind it.
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

    @Test("bytes of every number and every value come back")
    func everyLength() {
        var generator = SeededGenerator(seed: 1)
        for count in 0..<300 {
            let bytes = Data((0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) })
            #expect(decoded(bytes.base64EncodedString()) == bytes)
        }
        let all = Data(0...255)
        #expect(decoded(all.base64EncodedString()) == all)
    }

    @Test("a byte that is not of the alphabet, wherever it is, makes it no base64", arguments: [4, 16, 20, 48, 64])
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

    /// Foundation goes on after padding, and takes more or less of it than there should be.
    @Test("what Foundation refuses is refused, and what is taken is the same", arguments: 0..<50 as Range<UInt64>)
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
        "padding is at the end, and no more than two characters",
        arguments: ["AA==AAAA", "AAAA====", "A===", "====", "=", "AA=", "AAA=AAAAAAAAAAAAAAAA", "AA=A"]
    )
    func padding(text: String) {
        #expect(decoded(text) == nil)
    }

    @Test("memory that is too small is left alone")
    func tooSmall() {
        let text = Array("AAAA".utf8)
        var memory: [UInt8] = [1, 2, 3]
        let count = memory.withUnsafeMutableBytes { Base64.decode(text.span, into: $0) }
        #expect(count == nil && memory == [1, 2, 3])
    }
}
