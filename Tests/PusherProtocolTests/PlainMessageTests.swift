import PusherProtocol
import TestSupport
import TestTraits
import Testing

@Suite("The scan of plain messages", .limited)
struct PlainMessageTests {
    @Test(
        "the scan finds the parts of a message in any order, with white space between them",
        arguments: [true, false],
        [
            #"{"event":"created","channel":"orders","data":"{\"id\":1}"}"#,
            #"{"event":"created","data":"","channel":"orders","user_id":"7"}"#,
            " {\n\t\"data\" : \"a\\u00e9\\ud83d\\ude00\\/\\n\" ,\r\"event\":\"créé\" } ",
            #"{"event":"created"}"#,
        ]
    )
    func accepts(isAccelerated: Bool, text: String) throws {
        #expect(try scan(text, isAccelerated) == Envelope(decoding: text))
    }

    @Test(
        "the scan leaves other messages to the decoder",
        arguments: [
            "", "{", "{}", "[]", #"{"event":""}"#, #"{"channel":"orders"}"#, #"{"event":"a","channel":""}"#,
            #"{"event":"a","user_id":""}"#, #"{"event":"a","user_id":7}"#, #"{"event":"a","data":{}}"#,
            #"{"event":"a","data":null}"#, #"{"event":"a","event":"b"}"#, #"{"event":"a","data":"","data":""}"#,
            #"{"event":"a","channel":"b","channel":"c"}"#, #"{"event":"a","user_id":"b","user_id":"c"}"#,
            #"{"event":"a\n"}"#, #"{"event":"a","channel":"\u0062"}"#, #"{"event":"a","other":"b"}"#,
            #"{"event":"a","dat":"b"}"#, #"{"event":"a","data":"b"}}"#, #"{"event":"a","data":"b"},"#,
            #"{"event":"a","data":"b",}"#, #"{"event":"a" "data":"b"}"#, #"{"event":"a","data""b"}"#,
            #"{"event":"a","data":"b"#, #"{"event":"a","data":"b\"}"#, #"{"event":"a","data":"\x"}"#,
            #"{"event":"a","data":"\u12g4"}"#, "{\"event\":\"a\",\"data\":\"\u{1}\"}", "{\"event\":\"a\u{1}\"}",
        ]
    )
    func refuses(text: String) {
        #expect(scan(text, true) == nil)
        #expect(scan(text, false) == nil)
    }

    @Test("the scan unescapes each escape at every position", arguments: [true, false])
    func escapesEverywhere(isAccelerated: Bool) throws {
        let escapes = [
            #"\""#, #"\\"#, #"\\\\\""#, #"\/"#, #"\b\f\n\r\t"#, #"\u0041"#, #"\u00e9"#, #"\u20AC"#, #"\ud83d\ude00"#,
            #"\ud83d"#, #"\ude00\ud83d"#, #"\ud83d\u0041"#, "é", "😀",
        ]
        for escape in escapes {
            for before in 0...140 {
                for after in [0, 1, 70] {
                    let data = String(repeating: "x", count: before) + escape + String(repeating: "y", count: after)
                    let text = #"{"event":"a","data":"\#(data)"}"#
                    let expected = try Envelope(decoding: text)
                    let scanned = scan(text, isAccelerated)
                    #expect(scanned == expected, "\(escape) behind \(before)")
                }
            }
        }
    }

    @Test("the scan gives the decoder's result for whole, cut and damaged strings with escapes")
    func random() throws {
        var generator = SeededGenerator(seed: 22)
        let parts = [
            #"\""#, #"\\"#, #"\/"#, #"\n"#, #"\u0041"#, #"\u00e9"#, #"\ud83d\ude00"#, #"\ud83d"#, #"\udE00"#, "x",
            "plain text",
            "é", "€", "😀", #"""#, #"\"#, "\u{7}", #"\u12"#, String(repeating: "z", count: 61),
        ]
        for _ in 0..<20_000 {
            // The last part is always valid. Each of the four parts before the last part ends the string, or makes the
            // string invalid.
            let isDamaged = Int.random(in: 0..<4, using: &generator) == 0
            let choice = isDamaged ? parts[...] : parts.dropLast(5) + parts.suffix(1)
            var data = ""
            for _ in 0..<Int.random(in: 0..<40, using: &generator) { data += choice.randomElement(using: &generator)! }
            let text = #"{"event":"a","data":"\#(data)"}"#
            let expected = try? Envelope(decoding: text)
            for isAccelerated in [true, false] {
                let scanned = scan(text, isAccelerated)
                #expect(isDamaged && scanned == nil || scanned == expected, "\(isAccelerated): \(text)")
            }
        }
    }

    private func scan(_ text: String, _ isAccelerated: Bool) -> Envelope? {
        let bytes = Array(text.utf8)
        var unescaped = UnescapedText(isAccelerated: isAccelerated)
        guard let message = PlainMessage(scanning: bytes.span, unescapingInto: &unescaped) else { return nil }
        return message.envelope(of: bytes.span, unescaped)
    }
}
