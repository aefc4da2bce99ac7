import PusherEncryption
import TestTraits
import Testing

@Suite("Hexadecimal digits", .limited)
struct HexadecimalTests {
    @Test("each byte becomes two lowercase digits", arguments: [([], ""), ([0x00, 0x0F, 0xA0, 0xFF], "000fa0ff")])
    func digits(bytes: [UInt8], text: String) {
        #expect(Hexadecimal.digits(of: bytes) == text)
    }
}
