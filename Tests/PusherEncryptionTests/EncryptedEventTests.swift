import Foundation
import PusherEncryption
import PusherProtocol
import TestSupport
import TestTraits
import Testing

@Suite("Encrypted events", .limited, .needsSodium)
struct EncryptedEventTests {
    static let key = SecretKey([UInt8](repeating: 9, count: 32))

    @Test(
        "the client decrypts another implementation's events, as text and as an object",
        arguments: Vectors.boxes
    )
    func published(_ vector: Vectors.Box) throws {
        let data = #"{"nonce": "\#(vector.nonce)", "ciphertext": "\#(vector.ciphertext)"}"#
        let key = try #require(SecretKey(base64: vector.key))
        #expect(try EncryptedEvent.open(.string(data), with: key) == vector.plaintext)
        #expect(try EncryptedEvent.open(.json(data), with: key) == vector.plaintext)
    }

    @Test(
        "decryption restores the encrypted text",
        arguments: ["", "{}", "null", "\"text\"", "Zoë 🚀", "\u{0}\n\"\\", String(repeating: "é", count: 1_000)]
    )
    func roundTrip(text: String) throws {
        let key = try #require(Self.key)
        let data = try #require(EncryptedEvent.seal(text, with: key))
        #expect(data != EncryptedEvent.seal(text, with: key))
        #expect(try EncryptedEvent.open(.string(data), with: key) == text)
    }

    @Test("escaped slashes and other escapes do not change the decrypted text")
    func escapes() throws {
        let key = try #require(Self.key)
        var hasSlash = false
        for size in 1...40 {
            let text = String(repeating: "?", count: size)
            let data = try #require(EncryptedEvent.seal(text, with: key))
            hasSlash = hasSlash || data.contains("/")
            let escaped = data.replacingOccurrences(of: "/", with: #"\/"#)
                .replacingOccurrences(of: "A", with: #"\u0041"#)
            #expect(try EncryptedEvent.open(.string(escaped), with: key) == text)
        }
        #expect(hasSlash)
    }

    @Test(
        "an event without a valid nonce and ciphertext is malformed, and the failure gives the reason",
        arguments: [
            (#"{"id":7}"#, "it is not encrypted"), ("", "not a JSON object"), ("null", "not a JSON object"),
            ("[]", "not a JSON object"), ("{", "not a JSON object"),
            ("text", "not a JSON object"), (#""text""#, "not a JSON object"), ("1", "not a JSON object"),
            ("{}", "it is not encrypted"), (#"{"nonce":null,"ciphertext":""}"#, "nonce is missing"),
            (#"{"nonce":1,"ciphertext":""}"#, "nonce is missing"),
            (#"{"nonce":"*","ciphertext":""}"#, "nonce is not base64"),
            (#"{"nonce":"AA*A","ciphertext":""}"#, "nonce is not base64"),
            (#"{"nonce":"é","ciphertext":""}"#, "nonce is not base64"),
            (#"{"nonce":"AAAA"}"#, "ciphertext is missing"),
            (#"{"nonce":"AAAA","ciphertext":{}}"#, "ciphertext is missing"),
            (#"{"nonce":"AAAA","ciphertext":"?"}"#, "ciphertext is not base64"),
            (#"{"nonce":"AAAA","ciphertext":"AAAAAAAAAAAAAAA?AAAA"}"#, "ciphertext is not base64"),
            (#"{"nonce":"","ciphertext":""}"#, "nonce has 0 bytes"),
            (#"{"nonce":"AAAA","ciphertext":"AAAA"}"#, "nonce has 3 bytes rather than 24"),
            (
                #"{"nonce":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","ciphertext":"AAAA"}"#,
                "ciphertext has 3 bytes; it must have at least 16"
            ),
        ]
    )
    func malformed(data: String, why: String) throws {
        let key = try #require(Self.key)
        #expect {
            try EncryptedEvent.open(.string(data), with: key)
        } throws: { error in
            guard case .malformed(let text)? = error as? EncryptedEvent.Failure else { return false }
            return text.contains(why)
        }
    }

    @Test("an event without data is malformed")
    func noData() throws {
        let key = try #require(Self.key)
        #expect(throws: EncryptedEvent.Failure.self) { try EncryptedEvent.open(.none, with: key) }
    }

    @Test("an event that the key does not decrypt fails with wrongKey", arguments: Vectors.unopenable)
    func wrongKey(_ vector: Vectors.Box) throws {
        let data = #"{"nonce":"\#(vector.nonce)","ciphertext":"\#(vector.ciphertext)"}"#
        let key = try #require(SecretKey(base64: vector.key))
        #expect(throws: EncryptedEvent.Failure.wrongKey) { try EncryptedEvent.open(.string(data), with: key) }
    }

    @Test("decrypted text that is not UTF-8 is malformed, not encrypted with a wrong key")
    func notUTF8() throws {
        let key = try #require(Self.key)
        for bytes in [[0xFF], [0xC3], [0xED, 0xA0, 0x80], [0x61, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80]] as [[UInt8]] {
            let nonce = SecretBox.makeNonce()
            let box = Data(try #require(SecretBox.seal(bytes, nonce: nonce, key: key))).base64EncodedString()
            let data = #"{"nonce":"\#(Data(nonce).base64EncodedString())","ciphertext":"\#(box)"}"#
            #expect(throws: EncryptedEvent.Failure.malformed("the decrypted data is not UTF-8")) {
                try EncryptedEvent.open(.string(data), with: key)
            }
        }
    }

    @Test("a damaged event is either decrypted correctly or fails", arguments: 0..<400 as Range<UInt64>)
    func total(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let key = try #require(Self.key)
        var bytes = Array(try #require(EncryptedEvent.seal(#"{"a":1}"#, with: key)).utf8)
        for _ in 0...Int.random(in: 0..<4, using: &generator) {
            let index = Int.random(in: bytes.indices, using: &generator)
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: bytes[index] = UInt8.random(in: 0...255, using: &generator)
            case 1: bytes.remove(at: index)
            case 2: bytes.insert(UInt8.random(in: 0...127, using: &generator), at: index)
            default: bytes.removeSubrange(index...)
            }
            if bytes.isEmpty { break }
        }
        let text = String(decoding: bytes, as: UTF8.self)
        do {
            // Some changes, such as an additional space between the members, do not change the meaning.
            #expect(try EncryptedEvent.open(.string(text), with: key) == #"{"a":1}"#)
        } catch {
            if case .malformed(let why) = error { #expect(!why.isEmpty) }
        }
    }
}
