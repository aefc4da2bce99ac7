import PusherEncryption
import Testing

@Suite("HMAC-SHA256")
struct HMACSHA256Tests {
    @Test("the codes that PusherSwift's tests have")
    func published() {
        let code = HMACSHA256.hexadecimal(#"{"user":"my user data"}"#, secret: "mysecret")
        #expect(code == "7705bb9a7934fe4ceee2325e23750f35752899448c2fe5b064d93326c98fd5b3")
    }
}
