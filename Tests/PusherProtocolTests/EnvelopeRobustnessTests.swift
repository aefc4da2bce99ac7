import PusherProtocol
import TestSupport
import TestTraits
import Testing

/// Checks that no input causes a trap, which would end the test process. Most tests also check the result.
@Suite("Decoding damaged frames", .limited)
struct EnvelopeRobustnessTests {
    @Test("A frame is rejected if its end is missing", arguments: GoldenFrame.all)
    func truncated(frame: GoldenFrame) {
        let bytes = Array(frame.text.utf8)
        let end = bytes.lastIndex(of: UInt8(ascii: "}")) ?? bytes.endIndex
        for length in 0..<end {
            let cut = Array(bytes[..<length])
            #expect(throws: EnvelopeError.self) { try Envelope(decoding: cut.span) }
        }
    }

    @Test(
        "A frame with one changed byte is decoded or rejected",
        arguments: [
            #"{"event":"e","data":"\ud83d\ude80\u00e9\"\n","channel":"é🚀","user_id":-1.5e+3}"#,
            #"{"x":[{"a":null},true,false,0.5],"event":"pusher:error","data":{"code":null,"b":[[],{}]}}"#,
        ]
    )
    func everyByteMutated(text: String) {
        let bytes = Array(text.utf8)
        for index in bytes.indices {
            for byte in UInt8.min...UInt8.max {
                var mutated = bytes
                mutated[index] = byte
                _ = try? Envelope(decoding: mutated.span)
            }
        }
    }

    @Test("Random bytes are rejected", arguments: [1, 2, 3])
    func randomBytes(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<2_000 {
            let bytes = (0..<Int.random(in: 0..<64, using: &generator)).map { _ in
                UInt8.random(in: .min ... .max, using: &generator)
            }
            #expect(throws: EnvelopeError.self) { try Envelope(decoding: bytes.span) }
        }
    }

    /// The envelope itself is the first level.
    @Test("Nesting is accepted up to 512 levels", arguments: [("[", "]"), (#"{"a":"#, "}")])
    func depth(opening: String, closing: String) throws {
        func frame(levels: Int, key: String) -> String {
            let nested =
                String(repeating: opening, count: levels - 1) + "1" + String(repeating: closing, count: levels - 1)
            return #"{"event":"e","\#(key)":\#(nested)}"#
        }
        for key in ["data", "other", "channel"] {
            for levels in [1, 2, 511, 512] {
                #expect(throws: Never.self) { try Envelope(decoding: frame(levels: levels, key: key)) }
            }
            for levels in [513, 514, 100_000] {
                #expect(throws: EnvelopeError.tooDeep(offset: 14 + key.utf8.count + 511 * opening.utf8.count + 2)) {
                    try Envelope(decoding: frame(levels: levels, key: key))
                }
            }
        }
    }

    @Test("Unclosed brackets outside of an envelope are rejected after 511 levels")
    func unclosedBrackets() {
        #expect(throws: EnvelopeError.tooDeep(offset: 512)) {
            try Envelope(decoding: String(repeating: "[", count: 1_000_000))
        }
    }

    @Test("A level can contain any number of values")
    func wide() throws {
        let list = "[" + Array(repeating: "[[],{}]", count: 10_000).joined(separator: ",") + "]"
        #expect(try Envelope(decoding: #"{"event":"e","data":\#(list)}"#).data == .json(list))
    }

    @Test(
        "Numbers of any size are kept as text",
        arguments: [
            LongText(repeating: "9", count: 10_000), "1e999999999", "-0", "0.0000000000000000000000000001", "1E-400",
        ] as [LongText]
    )
    func hugeNumbers(number: LongText) throws {
        let number = number.text
        #expect(try Envelope(decoding: #"{"event":"e","data":\#(number)}"#).data == .json(number))
        #expect(try Envelope(decoding: #"{"event":"e","user_id":\#(number)}"#).userID == number)
    }

    @Test("Control characters in strings are rejected, but DEL is accepted", arguments: UInt8(0)...0x1F)
    func controlCharacters(byte: UInt8) throws {
        let frame = Array(#"{"event":"a"#.utf8) + [byte] + Array(#"b"}"#.utf8)
        #expect(throws: EnvelopeError.malformed(offset: 11)) { try Envelope(decoding: frame.span) }
        #expect(try Envelope(decoding: "{\"event\":\"a\u{7F}b\"}").event == "a\u{7F}b")
    }

    @Test("A message of a megabyte is decoded completely")
    func large() throws {
        let text = String(repeating: "é\"\\\n🚀", count: 80_000)
        let envelope = Envelope(event: "e", data: .string(text))
        #expect(try Envelope(decoding: envelope.jsonText) == envelope)
    }
}
