import PusherProtocol
import TestTraits
import Testing

@Suite("Decoding an envelope", .limited)
struct EnvelopeDecodingTests {
    @Test("Golden frames", arguments: GoldenFrame.all)
    func goldenFrame(frame: GoldenFrame) throws {
        #expect(try Envelope(decoding: frame.text) == frame.envelope)
    }

    @Test(
        "The decoder reads every kind of data",
        arguments: [
            (#"{"event":"e"}"#, Envelope.Payload.none),
            (#"{"event":"e","data":null}"#, .none),
            (#"{"event":"e","data":""}"#, .string("")),
            (#"{"event":"e","data":"null"}"#, .string("null")),
            (#"{"event":"e","data":"123"}"#, .string("123")),
            (#"{"event":"e","data":"{\"a\":1}"}"#, .string(#"{"a":1}"#)),
            (#"{"event":"e","data":{}}"#, .json("{}")),
            (#"{"event":"e","data": { "a" : [ 1 , 2 ] } }"#, .json(#"{ "a" : [ 1 , 2 ] }"#)),
            (#"{"event":"e","data":{"data":"}","event":"x"}}"#, .json(#"{"data":"}","event":"x"}"#)),
            (#"{"event":"e","data":[]}"#, .json("[]")),
            (#"{"event":"e","data":[{},[],"]"]}"#, .json(#"[{},[],"]"]"#)),
            (#"{"event":"e","data":0}"#, .json("0")),
            (#"{"event":"e","data":-1.50e+3}"#, .json("-1.50e+3")),
            (#"{"event":"e","data":true}"#, .json("true")),
            (#"{"event":"e","data":false}"#, .json("false")),
        ]
    )
    func data(text: String, expected: Envelope.Payload) throws {
        #expect(try Envelope(decoding: text).data == expected)
    }

    @Test(
        "The decoder replaces escapes in strings",
        arguments: [
            (#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{C}\n\r\t"),
            (#"\u0000\u001f\u007f"#, "\0\u{1F}\u{7F}"),
            (#"\u00e9\u00E9é"#, "ééé"),
            (#"\u20ac and \uFFFF"#, "€ and \u{FFFF}"),
            (#"\ud83d\ude80🚀"#, "🚀🚀"),
            (#"\uD800\uDC00\udbff\udfff"#, "\u{10000}\u{10FFFF}"),
            // Half of a surrogate pair alone is not a character.
            (#"\ud83d"#, "\u{FFFD}"),
            (#"\ude80"#, "\u{FFFD}"),
            (#"\ud83dx"#, "\u{FFFD}x"),
            (#"\ud83d\n"#, "\u{FFFD}\n"),
            (#"\ude80\ud83d"#, "\u{FFFD}\u{FFFD}"),
            (#"\ud83d\ud83d\ude80"#, "\u{FFFD}🚀"),
            (#"\ud83d\u0041"#, "\u{FFFD}A"),
            (#"\\u0041"#, #"\u0041"#),
        ]
    )
    func escapes(text: String, expected: String) throws {
        let envelope = try Envelope(
            decoding: #"{"event":"\#(text)","channel":"\#(text)","data":"\#(text)","user_id":"\#(text)"}"#
        )
        #expect(envelope == Envelope(event: expected, channel: expected, data: .string(expected), userID: expected))
    }

    @Test(
        "Bytes that are not UTF-8 become U+FFFD, and the other bytes are unchanged",
        arguments: [
            ([0xFF], "\u{FFFD}"), ([0xC3], "\u{FFFD}"), ([0x80, 0x80], "\u{FFFD}\u{FFFD}"),
            ([0xF0, 0x9F, 0x9A], "\u{FFFD}"), ([0x61, 0xFE, 0x62], "a\u{FFFD}b"),
        ] as [([UInt8], String)]
    )
    func notUTF8(bytes: [UInt8], expected: String) throws {
        let frame = Array(#"{"event":"e","data":""#.utf8) + bytes + Array(#""}"#.utf8)
        #expect(try Envelope(decoding: frame.span).data == .string(expected))
        let withEscape = Array(#"{"event":"e","data":"\n"#.utf8) + bytes + Array(#""}"#.utf8)
        #expect(try Envelope(decoding: withEscape.span).data == .string("\n" + expected))
    }

    @Test(
        "The last of two equal keys wins",
        arguments: [
            (#"{"event":"a","event":"b"}"#, Envelope(event: "b")),
            (#"{"event":"e","data":"x","data":null}"#, Envelope(event: "e")),
            (#"{"event":"e","data":{},"data":"x"}"#, Envelope(event: "e", data: .string("x"))),
            (#"{"event":"e","channel":"a","channel":"b"}"#, Envelope(event: "e", channel: "b")),
            (#"{"event":"e","user_id":"a","user_id":2}"#, Envelope(event: "e", userID: "2")),
        ]
    )
    func duplicateKeys(text: String, expected: Envelope) throws {
        #expect(try Envelope(decoding: text) == expected)
    }

    @Test("The decoder recognizes keys that are written with escapes")
    func escapedKeys() throws {
        let text = #"{"\u0065vent":"e","dat\u0061":"d","ch\u0061nnel":"c","user\u005fid":"u"}"#
        #expect(try Envelope(decoding: text) == Envelope(event: "e", channel: "c", data: .string("d"), userID: "u"))
    }

    @Test(
        "The decoder reads a user_id only if it is a string or a number",
        arguments: [
            ("\"u\"", "u"), ("10", "10"), ("-3", "-3"), ("1.5", "1.5"),
            ("12345678901234567890", "12345678901234567890"),
            ("null", nil), ("{}", nil), ("[1]", nil), ("true", nil), (#""""#, ""),
        ] as [(String, String?)]
    )
    func userID(value: String, expected: String?) throws {
        #expect(try Envelope(decoding: #"{"event":"e","user_id":\#(value)}"#).userID == expected)
    }

    @Test(
        "The decoder ignores other keys, and keeps the text for listeners that need it",
        arguments: ["1", "{\"a\":[{}]}", "\"x\""]
    )
    func unknownKeys(value: String) throws {
        for text in [#"{"event":"e","extra":\#(value)}"#, #"{"extra":\#(value),"event":"e"}"#] {
            #expect(try Envelope(decoding: text) == Envelope(event: "e", unknownKeysText: text))
        }
        // Unknown keys that resemble known keys in length or in bytes.
        for key in ["Event", "datA", "channeL", "user-id", "events", ""] {
            #expect(try Envelope(decoding: #"{"event":"e","\#(key)":1}"#).unknownKeysText != nil)
        }
    }

    @Test("White space is allowed everywhere that JSON allows it")
    func whiteSpace() throws {
        let text = "\r\n\t { \"event\" \t:\n \"e\" , \"data\" : [ ] , \"channel\":\"c\" } \r\n"
        #expect(try Envelope(decoding: text) == Envelope(event: "e", channel: "c", data: .json("[ ]")))
    }

    @Test(
        "An invalid envelope is rejected, and the error gives the reason",
        arguments: [
            ("", EnvelopeError.malformed(offset: 0)),
            ("  ", .malformed(offset: 2)),
            ("[]", .notAnObject), ("\"event\"", .notAnObject), ("1", .notAnObject), ("null", .notAnObject),
            ("nul", .malformed(offset: 0)),
            ("{}", .noEvent),
            (#"{"data":"x"}"#, .noEvent), (#"{"event":null}"#, .noEvent), (#"{"event":1}"#, .noEvent),
            (#"{"event":"e","event":{}}"#, .noEvent),
            (#"{"event":"e"}x"#, .malformed(offset: 13)),
            (#"{"event":"e"}{"event":"e"}"#, .malformed(offset: 13)),
            (#"{"event":"e",}"#, .malformed(offset: 13)),
            (#"{,"event":"e"}"#, .malformed(offset: 1)),
            (#"{"event" "e"}"#, .malformed(offset: 9)),
            (#"{"event":"e" "data":1}"#, .malformed(offset: 13)),
            (#"{event:"e"}"#, .malformed(offset: 1)),
            (#"{'event':'e'}"#, .malformed(offset: 1)),
            ("{\"event\":\"a\nb\"}", .malformed(offset: 11)),
            ("{\"event\":\"e\"}\0", .malformed(offset: 13)),
            ("<html>", .malformed(offset: 0)),
        ]
    )
    func refused(text: String, expected: EnvelopeError) {
        #expect(throws: expected) { try Envelope(decoding: text) }
        #expect(!expected.description.isEmpty)
    }

    @Test(
        "Values that are not JSON are rejected at any position",
        arguments: [
            "01", "-", "+1", ".5", "1.", "1.e5", "1e", "1e+", "0x1", "NaN", "Infinity", "True", "nulL", "tru",
            "undefined",
            "[1,]", "[,1]", "[1 2]", "[", "]", "[}", "{]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{1:2}", "\"\\x\"",
            "\"\\u12\"",
            "\"\\u12G4\"", "\"\t\"", "\"", "\"\\", "\"\\\"", "'a'", "",
        ]
    )
    func invalidValues(value: String) {
        for key in ["data", "event", "channel", "user_id", "other"] {
            let text = #"{"event":"e","\#(key)":\#(value)}"#
            #expect(throws: EnvelopeError.self, "\(text)") { try Envelope(decoding: text) }
        }
    }
}
