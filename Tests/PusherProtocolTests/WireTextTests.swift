import PusherProtocol
import TestTraits
import Testing

@Suite("Names and ids of the protocol", .limited)
struct WireTextTests {
    @Test(
        "Texts are equal only if their bytes are equal",
        arguments: [("\u{E9}", "e\u{301}"), ("K", "\u{212A}"), (";", "\u{37E}")]
    )
    func bytes(one: String, two: String) {
        #expect(one == two)
        #expect(WireText(one) == WireText(String(one.unicodeScalars.map(Character.init))))
        #expect(WireText(one) != WireText(two))
        #expect(Set([WireText(one), WireText(two)]).count == 2)
        var table: WireTable<Int> = [one: 1]
        #expect(table[two] == nil)
        table[two] = 2
        #expect(table[one] == 1 && table[two] == 2 && table.count == 2)
        #expect(table.removeValue(forKey: one) == 1 && table[two] == 2)
    }

    @Test("An object in JSON keeps keys that differ only in Unicode normalization")
    func json() throws {
        let value = try #require(JSONValue(parsing: #"{"\u00e9":1,"e\u0301":2}"#))
        #expect(value.object?.count == 2)
        #expect(value["\u{E9}"] == 1 && value["e\u{301}"] == 2)
        let members = try #require(JSONMembers(parsing: value.jsonText))
        #expect(members["\u{E9}"] == "1" && members["e\u{301}"] == "2")
    }
}
