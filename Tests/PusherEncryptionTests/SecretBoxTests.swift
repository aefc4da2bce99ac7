import Foundation
import PusherEncryption
import RealtimePrimitives
import TestSupport
import TestTraits
import Testing

@Suite("Secretbox", .limited, .needsSodium)
struct SecretBoxTests {
    @Test("the key opens boxes of another implementation", arguments: Vectors.boxes)
    func published(_ vector: Vectors.Box) throws {
        let box = Box(vector)
        let key = try #require(SecretKey(base64: vector.key))
        #expect(SecretBox.seal(Array(vector.plaintext.utf8), nonce: box.nonce, key: key) == box.ciphertext)
        #expect(SecretBox.open(box.ciphertext, nonce: box.nonce, key: key) == Array(vector.plaintext.utf8))
    }

    @Test("the key opens long boxes", arguments: Vectors.longBoxes)
    func long(_ vector: Vectors.LongBox) throws {
        let message = Array(String(repeating: vector.character, count: vector.count).utf8)
        let nonce = Array(try #require(Data(base64Encoded: vector.nonce)))
        let key = try #require(SecretKey(base64: vector.key))
        let box = try #require(SecretBox.seal(message, nonce: nonce, key: key))
        #expect(box.count == vector.count + SecretBox.tagSize)
        #expect(Hexadecimal.digits(of: SHA256.digest(of: box)) == vector.sha256)
        #expect(SecretBox.open(box, nonce: nonce, key: key) == message)
    }

    @Test("another key does not open a box", arguments: Vectors.unopenable)
    func unopenable(_ vector: Vectors.Box) throws {
        let box = Box(vector)
        let key = try #require(SecretKey(base64: vector.key))
        #expect(SecretBox.open(box.ciphertext, nonce: box.nonce, key: key) == nil)
    }

    @Test("a box does not open after any bit of its tag, text or nonce is flipped")
    func tampered() throws {
        let vector = try #require(Vectors.boxes.first { $0.plaintext == #"{"hello":"world"}"# })
        let box = Box(vector)
        let key = try #require(SecretKey(base64: vector.key))
        for index in box.ciphertext.indices {
            for bit in 0..<8 {
                var changed = box.ciphertext
                changed[index] ^= 1 << bit
                #expect(SecretBox.open(changed, nonce: box.nonce, key: key) == nil)
            }
        }
        for index in box.nonce.indices {
            for bit in 0..<8 {
                var changed = box.nonce
                changed[index] ^= 1 << bit
                #expect(SecretBox.open(box.ciphertext, nonce: changed, key: key) == nil)
            }
        }
        #expect(SecretBox.open(box.ciphertext + [0], nonce: box.nonce, key: key) == nil)
        #expect(SecretBox.open(Array(box.ciphertext.dropLast()), nonce: box.nonce, key: key) == nil)
    }

    @Test("only a nonce of 24 bytes is valid, and arbitrary bytes do not open as a box", arguments: 0...40)
    func lengths(count: Int) throws {
        let key = try #require(SecretKey([UInt8](repeating: 1, count: 32)))
        let bytes = [UInt8](repeating: 2, count: count)
        #expect((SecretBox.seal([], nonce: bytes, key: key) != nil) == (count == 24))
        #expect(SecretBox.open(bytes, nonce: [UInt8](repeating: 3, count: 24), key: key) == nil)
        #expect(SecretBox.open([UInt8](repeating: 4, count: 32), nonce: bytes, key: key) == nil)
    }

    @Test("a sealed box can be opened, but a random box cannot", arguments: 0..<50 as Range<UInt64>)
    func random(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let key = try #require(SecretKey((0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }))
        let other = try #require(SecretKey((0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }))
        let count = Int.random(in: 0..<3_000, using: &generator)
        let message = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let nonce = SecretBox.makeNonce()
        #expect(nonce.count == 24)
        let box = try #require(SecretBox.seal(message, nonce: nonce, key: key))
        #expect(SecretBox.open(box, nonce: nonce, key: key) == message)
        #expect(SecretBox.open(box, nonce: nonce, key: other) == nil)
        #expect(SecretBox.open(message, nonce: nonce, key: key) == nil)
    }

    @Test("every nonce is different")
    func nonces() {
        #expect(Set((0..<10_000).map { _ in SecretBox.makeNonce() }).count == 10_000)
    }

    @Test("the keys of channels match the keys of other libraries", arguments: Vectors.sharedSecrets)
    func sharedSecret(_ vector: Vectors.SharedSecret) throws {
        let masterKey = try #require(SecretKey(base64: vector.masterKey))
        #expect(SharedSecret.base64(channel: vector.channel, masterKey: masterKey) == vector.key)
        #expect(SharedSecret.key(channel: vector.channel, masterKey: masterKey) == SecretKey(base64: vector.key))
        #expect(SharedSecret.base64(channel: vector.channel + "2", masterKey: masterKey) != vector.key)
    }
}
