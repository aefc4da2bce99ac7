import CSodium
import PusherProtocol
import Testing

@Suite("libsodium")
struct SodiumTests {
    @Test(
        "the strings to sign give the published signatures",
        arguments: [
            (
                StringToSign.channel(socketID: "1234.1234", channel: "private-foobar", channelData: nil),
                "58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4"
            ),
            (
                StringToSign.channel(
                    socketID: "1234.1234",
                    channel: "presence-foobar",
                    channelData: #"{"user_id":10,"user_info":{"name":"Mr. Channels"}}"#
                ),
                "31935e7d86dba64c2a90aed31fdc61869f9b22ba9d8863bba239c03ca481bc80"
            ),
            (
                StringToSign.user(socketID: "1234.1234", userData: #"{"id":"12345"}"#),
                "4708d583dada6a56435fb8bc611c77c359a31eebde13337c16ab43aa6de336ba"
            ),
        ]
    )
    func signatures(text: String, signature: String) {
        #expect(sodium_init() >= 0)
        let secret = Array("7ad3773142a6692b25b8".utf8)
        var state = crypto_auth_hmacsha256_state()
        var digest = [UInt8](repeating: 0, count: Int(crypto_auth_hmacsha256_BYTES))
        crypto_auth_hmacsha256_init(&state, secret, secret.count)
        crypto_auth_hmacsha256_update(&state, Array(text.utf8), UInt64(text.utf8.count))
        crypto_auth_hmacsha256_final(&state, &digest)
        let digits = digest.map { byte in
            let text = String(byte, radix: 16)
            return byte < 16 ? "0" + text : text
        }
        #expect(digits.joined() == signature)
    }
}
