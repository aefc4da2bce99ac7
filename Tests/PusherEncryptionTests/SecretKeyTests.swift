import Foundation
import TestSupport
import TestTraits
import Testing

@testable import PusherEncryption

@Suite("Secret keys", .limited)
struct SecretKeyTests {
    @Test("only 32 bytes are a valid key", arguments: 0...70)
    func length(count: Int) {
        let bytes = (0..<count).map { UInt8($0) }
        #expect((SecretKey(bytes) != nil) == (count == 32))
        #expect((SecretKey(base64: Data(bytes).base64EncodedString()) != nil) == (count == 32))
    }

    @Test(
        "a string that is not the base64 of 32 bytes is not a key",
        arguments: [
            "", "=", "====", "a", "not base64", String(repeating: "0", count: 44), String(repeating: "é", count: 22),
            "iBvNoPVYwByqSfg6anjPpEQ2j051b3rt1Vmnb-z5doo=", "iBvNoPVYwByqSfg6anjPpEQ2j051b3rt1Vmnb+z5doo",
            " iBvNoPVYwByqSfg6anjPpEQ2j051b3rt1Vmnb+z5doo=", "iBvNoPVYwByqSfg6anjPpEQ2j051b3rt1Vmnb+z5doo=\n",
        ]
    )
    func notBase64(text: String) {
        #expect(SecretKey(base64: text) == nil)
    }

    @Test("a very long string is not a key")
    func long() {
        #expect(SecretKey(base64: String(repeating: "A", count: 1_000_000)) == nil)
    }

    @Test("keys with the same bytes are equal")
    func equality() throws {
        let bytes = [UInt8](repeating: 7, count: 32)
        let key = try #require(SecretKey(bytes))
        #expect(key == key)
        #expect(key == SecretKey(bytes))
        #expect(Set([key, try #require(SecretKey(bytes))]).count == 1)
        for index in 0..<32 {
            var others = bytes
            others[index] ^= 1
            #expect(key != SecretKey(others))
        }
    }

    @Test("a printed key shows none of its bytes")
    func printing() throws {
        let base64 = "iBvNoPVYwByqSfg6anjPpEQ2j051b3rt1Vmnb+z5doo="
        let key = try #require(SecretKey(base64: base64))
        var dumped = ""
        dump((key, [key]), to: &dumped)
        for text in ["\(key)", String(reflecting: key), "\([key])", "\(["key": Optional(key)])", dumped] {
            #expect(!text.contains("iBv"))
            #expect(!text.contains("address"))
            #expect(text.contains("SecretKey"))
        }
    }

    @Test("keys can be created and released on many threads at once")
    func manyThreads() async throws {
        let vectors = Vectors.boxes
        await withDiscardingTaskGroup { group in
            for _ in 0..<16 {
                group.addTask {
                    for vector in vectors {
                        let box = Box(vector)
                        for _ in 0..<20 {
                            let opened = SecretKey(base64: vector.key).flatMap {
                                SecretBox.open(box.ciphertext, nonce: box.nonce, key: $0)
                            }
                            #expect(opened == (SecretBox.isAvailable ? Array(vector.plaintext.utf8) : nil))
                        }
                    }
                }
            }
        }
    }
}

/// A test vector in bytes.
struct Box {
    let nonce: [UInt8]
    let ciphertext: [UInt8]

    init(_ vector: Vectors.Box) {
        nonce = Array(Data(base64Encoded: vector.nonce) ?? Data())
        ciphertext = Array(Data(base64Encoded: vector.ciphertext) ?? Data())
    }
}
