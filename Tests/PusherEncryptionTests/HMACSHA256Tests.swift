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

    @Test("a signature of another length or with other letters is invalid")
    func length() {
        let code = HMACSHA256.hexadecimal("text", secret: "secret")
        for wrong in ["", String(code.dropLast()), code + "0", code.uppercased(), String(repeating: "é", count: 32)] {
            #expect(!HMACSHA256.isValid(wrong, for: "text", secret: "secret"))
        }
    }
}
