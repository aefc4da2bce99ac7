import RealtimePrimitives
import TestTraits
import Testing

@Suite("Validation of UTF-8 in pieces", .limited)
struct UTF8ValidatorTests {
    /// The bytes at which a rule of UTF-8 begins or ends.
    static let edges: [UInt8] = [
        0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF4, 0xF5,
    ]

    @Test("agrees with the standard library on all combinations of four edge bytes", arguments: edges)
    func edgeCombinations(first: UInt8) {
        for second in Self.edges {
            for third in Self.edges {
                for fourth in Self.edges {
                    let bytes = [first, second, third, fourth]
                    let isValid = String(decoding: bytes, as: UTF8.self).utf8.elementsEqual(bytes)
                    if Self.accepts([bytes]) != isValid { Issue.record("\(bytes) whole") }
                    // The test appends more bytes, because the validator checks whole words only before the last bytes.
                    if Self.accepts([bytes + [0x41, 0x41, 0x41]]) != isValid { Issue.record("\(bytes) in the middle") }
                    if Self.accepts(bytes.map { [$0] }) != isValid { Issue.record("\(bytes) in single bytes") }
                }
            }
        }
    }

    @Test("accepts text split at any byte")
    func cuts() {
        let bytes = Array("plain ASCII, κόσμε, 你好世界, 🎺🏳️‍🌈, and ASCII again".utf8)
        for cut in 0...bytes.count {
            #expect(Self.accepts([Array(bytes[..<cut]), Array(bytes[cut...])]))
        }
    }

    @Test(
        "rejects the first byte that makes the text invalid",
        arguments: [
            [0x41, 0xC0], [0xE0, 0x9F], [0xED, 0xA0], [0xF0, 0x8F], [0xF4, 0x90], [0xF5], [0x80], [0xC3, 0x41],
        ]
    )
    func refusesEarly(bytes: [UInt8]) {
        var validator = UTF8Validator()
        for byte in bytes.dropLast() {
            #expect([byte].withUnsafeBytes { validator.consume($0) })
        }
        #expect(!bytes.suffix(1).withUnsafeBytes { validator.consume($0) })
    }

    private static func accepts(_ parts: [[UInt8]]) -> Bool {
        var validator = UTF8Validator()
        for part in parts {
            guard part.withUnsafeBytes({ validator.consume($0) }) else { return false }
        }
        return validator.isComplete
    }
}
