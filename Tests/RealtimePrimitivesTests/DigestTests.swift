import PusherEncryption
import RealtimePrimitives
import TestTraits
import Testing

@Suite("MD5, SHA-1 and SHA-256", .limited)
struct DigestTests {
    struct Vector: Sendable {
        var message: String
        var repetitions = 1
        var digest: String

        var bytes: [UInt8] { Array(String(repeating: message, count: repetitions).utf8) }
    }

    @Test(
        "MD5 gives the digests of RFC 1321, appendix A.5",
        arguments: [
            Vector(message: "", digest: "d41d8cd98f00b204e9800998ecf8427e"),
            Vector(message: "a", digest: "0cc175b9c0f1b6a831c399e269772661"),
            Vector(message: "abc", digest: "900150983cd24fb0d6963f7d28e17f72"),
            Vector(message: "message digest", digest: "f96b697d7cb7938d525a2f31aaf161d0"),
            Vector(message: "abcdefghijklmnopqrstuvwxyz", digest: "c3fcd3d76192e4007dfb496cca67e13b"),
            Vector(
                message: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
                digest: "d174ab98d277d9f5a5611c2c9f419d9f"
            ),
            Vector(message: "1234567890", repetitions: 8, digest: "57edf4a22be3c955ac49da2e2107b67a"),
        ]
    )
    func md5(_ vector: Vector) {
        #expect(Hexadecimal.digits(of: MD5.digest(of: vector.bytes)) == vector.digest)
    }

    @Test(
        "SHA-1 gives the digests of RFC 3174 (7.3), FIPS 180 and RFC 6455 (1.3)",
        arguments: [
            Vector(message: "", digest: "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
            Vector(message: "abc", digest: "a9993e364706816aba3e25717850c26c9cd0d89d"),
            Vector(
                message: "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                digest: "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
            ),
            Vector(message: "a", repetitions: 1_000_000, digest: "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
            Vector(message: "01234567", repetitions: 80, digest: "dea356a2cddd90c7a7ecedc5ebb563934f460452"),
            Vector(
                message: "dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11",
                digest: "b37a4f2cc0624f1690f64606cf385945b2bec4ea"
            ),
        ]
    )
    func sha1(_ vector: Vector) {
        #expect(Hexadecimal.digits(of: SHA1.digest(of: vector.bytes)) == vector.digest)
    }

    @Test(
        "SHA-256 gives the digests of FIPS 180",
        arguments: [
            Vector(message: "", digest: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            Vector(message: "abc", digest: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            Vector(
                message: "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                digest: "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
        ]
    )
    func sha256(_ vector: Vector) {
        #expect(Hexadecimal.digits(of: SHA256.digest(of: vector.bytes)) == vector.digest)
    }

    @Test("the SHA-256 digest of parts is the digest of the whole message")
    func parts() {
        let message = (0..<200).map { UInt8($0) }
        let whole = SHA256.digest(of: message)
        for first in stride(from: 0, through: 200, by: 7) {
            for second in stride(from: first, through: 200, by: 9) {
                let digest = message.withUnsafeBytes { bytes in
                    SHA256.digest(
                        of: [bytes[..<first], bytes[first..<second], bytes[second...]].map { .init(rebasing: $0) }
                    )
                }
                #expect(digest == whole, "parts end at \(first) and \(second)")
            }
        }
    }

    /// The test uses many lengths, because the padding depends on the length. If the last block has fewer than nine
    /// free bytes, the padding needs another block.
    @Test("the digests of messages of many lengths are those that Python's hashlib computes")
    func everyLength() {
        var digests: (md5: [UInt8], sha1: [UInt8], sha256: [UInt8]) = ([], [], [])
        for count in Array(0...300) + [4_095, 4_096, 65_537] {
            let message = (0..<count).map { UInt8(truncatingIfNeeded: $0 * $0 + count) }
            digests.md5 += MD5.digest(of: message)
            digests.sha1 += SHA1.digest(of: message)
            digests.sha256 += SHA256.digest(of: message)
        }
        // The digest of all digests, so that a few constants stand for all messages.
        #expect(Hexadecimal.digits(of: MD5.digest(of: digests.md5)) == "622f291bd4632a55f54b97da1890d89d")
        #expect(Hexadecimal.digits(of: SHA1.digest(of: digests.sha1)) == "06cfae41bbcc0ee87cf998922593a8049e96e3fb")
        let sha256 = "bf7cd59ef3a08ce76b9b999d43ebf07481f212b03a9fa9e961e9097273e3211d"
        #expect(Hexadecimal.digits(of: SHA256.digest(of: digests.sha256)) == sha256)
    }
}
