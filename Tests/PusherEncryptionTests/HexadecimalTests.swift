import PusherEncryption
import Testing

@Suite("Hexadecimal digits")
struct HexadecimalTests {
    @Test("two for each byte, in lower case", arguments: [([], ""), ([0x00, 0x0F, 0xA0, 0xFF], "000fa0ff")])
    func digits(bytes: [UInt8], text: String) {
        #expect(Hexadecimal.digits(of: bytes) == text)
    }
}
