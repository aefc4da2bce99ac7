import PusherEncryption
import TestTraits
import Testing

@Suite("HMAC-SHA256", .limited)
struct HMACSHA256Tests {
    @Test("the codes match the codes of another implementation", arguments: Vectors.signatures)
    func code(_ vector: Vectors.Signature) {
        #expect(HMACSHA256.hexadecimal(vector.text, secret: vector.secret) == vector.code)
        #expect(HMACSHA256.hexadecimal(Array(vector.text.utf8), secret: vector.secret) == vector.code)
        #expect(HMACSHA256.isValid(vector.code, for: vector.text, secret: vector.secret))
    }

    @Test(
        "a signature is invalid for another secret or another string, and after a change of any digit",
        arguments: Vectors.signatures
    )
    func invalid(_ vector: Vectors.Signature) {
        #expect(!HMACSHA256.isValid(vector.code, for: vector.text, secret: vector.secret + "x"))
        #expect(!HMACSHA256.isValid(vector.code, for: vector.text + "x", secret: vector.secret))
        for index in vector.code.indices {
            var code = vector.code
            code.replaceSubrange(index...index, with: code[index] == "0" ? "1" : "0")
            #expect(!HMACSHA256.isValid(code, for: vector.text, secret: vector.secret))
        }
    }

    @Test(
        "the codes match Python's hmac for secrets and texts around the size of a block",
        arguments: [
            (63, "9555ee1f3acc7e730b14d864504ce7178d49d68276e3b24d8939379f22177016"),
            (64, "6c5d941ffa5c767ab48ab913e070f40807115a8478907ad61bee6f2283c72966"),
            (65, "3c6c4ac7270320ec19c0d016294b347bfd7461bd232b367fd8872ed95db94178"),
            (119, "b45726bd106e9c0067e323bc6e4011c4e1de955740d4d23697d33f50ed5c3501"),
            (120, "ddb1ac9991fff600f782ffb82b8bc6d1206d6b9272999fb2a34a3d69fc299536"),
            (200, "b01acc65b25b13c77cdfdb326f6c829015486f31ab6751321466a2b5e8f76cae"),
        ]
    )
    func sizes(_ size: Int, _ code: String) {
        let text = String(repeating: "m", count: size)
        #expect(HMACSHA256.hexadecimal(text, secret: String(repeating: "k", count: size)) == code)
    }

    @Test(
        "the codes are right for a short secret (RFC 4231, case 2) and for a secret longer than a block",
        arguments: [
            (
                "Jefe", "what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            (
                String(repeating: "a", count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
                "d021303c2f34bf3ae541b4ec9c672691694c6f71c5c0c55781545a66115b14a7"
            ),
        ]
    )
    func published(_ secret: String, _ text: String, _ code: String) {
        #expect(HMACSHA256.hexadecimal(text, secret: secret) == code)
    }

    @Test("a signature of another length or with other letters is invalid")
    func length() {
        let code = HMACSHA256.hexadecimal("text", secret: "secret")
        for wrong in ["", String(code.dropLast()), code + "0", code.uppercased(), String(repeating: "é", count: 32)] {
            #expect(!HMACSHA256.isValid(wrong, for: "text", secret: "secret"))
        }
    }
}
