import PusherProtocol
import TestTraits
import Testing

@Suite("JSON values", .limited)
struct JSONValueTests {
    @Test("The value of a payload is the same whether the server encodes it once or twice")
    func payloadValue() {
        #expect(Envelope.Payload.string(#"{"a":1}"#).value == ["a": 1])
        #expect(Envelope.Payload.json(#"{"a":1}"#).value == ["a": 1])
        #expect(Envelope.Payload.none.value == nil)
        #expect(Envelope.Payload.string("").value == nil)
        #expect(Envelope.Payload.string("plain text").value == nil)
        #expect(Envelope.Payload.string(#""text""#).value == "text")
    }

    @Test(
        "Whole numbers are integers in every notation",
        arguments: [
            ("120", 120), ("120.0", 120), ("1.2e2", 120), ("-1", -1), ("0", 0), ("1.5", nil), ("1e300", nil),
            ("9223372036854775808", nil), ("-1e400", nil), (#""120""#, nil), ("true", nil), ("null", nil),
        ] as [(String, Int?)]
    )
    func integers(text: String, expected: Int?) {
        #expect(JSONValue(parsing: text)?.integer == expected)
    }

    @Test(
        "A large number keeps its fraction",
        arguments: ["1.5", "9007199254740993.5", "9223368547758085.5", "-9223368547758085.5"]
    )
    func fractions(text: String) {
        #expect(JSONValue(parsing: text)?.double == Double(text))
    }

    @Test("Whole numbers keep every digit", arguments: [1 << 53, 1 << 53 + 1, 9_223_368_547_758_085, Int.max, Int.min])
    func digits(number: Int) {
        #expect(JSONValue(parsing: "\(number)") == .integer(number))
    }

    @Test(
        "Identifiers are strings or numbers",
        arguments: [
            (#""u1""#, "u1"), ("10", "10"), ("10.0", "10"), ("1.5", "1.5"), ("null", nil), ("[]", nil), ("true", nil),
        ] as [(String, String?)]
    )
    func identifiers(text: String, expected: String?) {
        #expect(JSONValue(parsing: text)?.identifier == expected)
    }

    @Test(
        "Text that is not JSON in UTF-8 has no value at any depth",
        arguments: [
            "[1,]", #"{"a":1,}"#, "\u{0}0", "0\u{0}", "\u{FEFF}0", "[1] 2", "// no\n1",
            "[[1,]," + String(repeating: "[", count: 100) + String(repeating: "]", count: 100) + "]",
            String("[1]".flatMap { "\u{0}\($0)" }),
        ]
    )
    func notJSON(text: String) {
        #expect(JSONValue(parsing: text) == nil)
    }

    private static let written: [(String, JSONValue)] = [
        (#"{"a\u0062":"\ud83d\ude00\n\/"}"#, ["ab": "😀\n/"]),
        (#"{"a":1,"a":2}"#, ["a": 2]),
        (#" { "a" : [ ] , "b" : { } } "#, ["a": [], "b": [:]]),
        (#"["a\"b", "c"]"#, ["a\"b", "c"]),
    ]

    @Test(
        "Strings and keys are unescaped, and the last of two equal keys wins",
        arguments: written
    )
    func strings(text: String, expected: JSONValue) {
        #expect(JSONValue(parsing: text) == expected)
    }

    @Test("Nesting is accepted up to the limit", arguments: ["[]", #"{"a":}"#])
    func depth(form: String) {
        let (open, close) = (String(form.dropLast()), String(form.suffix(1)))
        let innermost = form == "[]" ? "[]" : "{}"
        func nested(_ depth: Int) -> String {
            Array(repeating: open, count: depth - 1).joined() + innermost
                + Array(repeating: close, count: depth - 1).joined()
        }
        #expect(JSONValue(parsing: nested(JSONValue.maximumDepth - 1)) != nil)
        #expect(JSONValue(parsing: nested(JSONValue.maximumDepth)) == nil)
    }

    @Test(
        "An incomplete value, or a value with other text inside, is invalid",
        arguments: [
            "[1", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1 \"b\":2}", "[,1]", "{,}", "tru", "nul", "-", "1.", "01",
            "+1",
        ]
    )
    func incomplete(text: String) {
        #expect(JSONValue(parsing: text) == nil)
    }

    @Test("Accessors return nil for values of another kind")
    func accessors() throws {
        let value = try #require(JSONValue(parsing: #"{"s":"x","a":[1],"o":{"k":null},"d":0.5,"b":true}"#))
        #expect(value["s"]?.string == "x" && value["s"]?.array == nil)
        #expect(value["a"]?.array == [1] && value["a"]?.object == nil)
        #expect(value["o"]?.object == ["k": nil] && value["o"]?.string == nil)
        #expect(value["d"]?.double == 0.5 && value["d"]?.integer == nil)
        #expect(value["b"] == true && value["b"]?.double == nil)
        #expect(value["missing"] == nil && JSONValue.string("x")["s"] == nil)
    }

    @Test("JSON text is compact, has sorted keys, and can be parsed again")
    func text() {
        let value: JSONValue = ["b": [1, .number(2.5), nil, true], "a": "x\"\n", "c": [:], "d": []]
        #expect(value.jsonText == #"{"a":"x\"\n","b":[1,2.5,null,true],"c":{},"d":[]}"#)
        #expect(JSONValue(parsing: value.jsonText) == value)
        #expect(JSONValue.array([.number(.nan), .number(.infinity)]).jsonText == "[null,null]")
    }
}
