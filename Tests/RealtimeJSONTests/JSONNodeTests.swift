import Foundation
import RealtimeJSON
import TestTraits
import Testing

@Suite("Nodes of JSON texts", .limited)
struct JSONNodeTests {
    private func read<Result>(
        _ text: String,
        maximumDepth: Int = JSONNode.maximumDepth,
        _ body: (JSONNode) -> Result
    ) throws -> Result {
        let bytes = Array(text.utf8)
        return try bytes.withUnsafeBytes { try JSONNode.read($0, maximumDepth: maximumDepth, body) }
    }

    @Test("has the members and elements in their order, and their texts")
    func values() throws {
        let text = #" {"a" : [1, true,null , "x\n"] , "a":{"b": -1.5e3 },"\u0063":""}"#
        let members = try read(text) { node in node.members.map { ($0.name, $0.value.text) } }
        #expect(members.map(\.0) == ["a", "a", "c"])
        #expect(members.map(\.1) == [#"[1, true,null , "x\n"]"#, #"{"b": -1.5e3 }"#, #""""#])
        let kinds = try read(text) { node in node.members[0].value.elements.map(\.kind) }
        #expect(kinds == [.number, .bool, .null, .string])
        let string = try read(text) { node in node.members[0].value.elements[3].string }
        #expect(string == "x\n")
    }

    @Test("a node outlives the reading of other texts")
    func kept() throws {
        let node = try read(#"{"a":["first"]}"#) { $0 }
        _ = try read(#"{"b":["second"]}"#) { $0.members.count }
        #expect(node.members[0].value.elements[0].string == "first")
    }

    @Test("halves of surrogate pairs and malformed UTF-8 become U+FFFD")
    func repaired() throws {
        #expect(try read(#"["\ud83d!"]"#) { $0.elements[0].string } == "\u{FFFD}!")
        let bytes: [UInt8] = [0x22, 0xFF, 0x61, 0x22]
        #expect(try bytes.withUnsafeBytes { try JSONNode.read($0) { $0.string } } == "\u{FFFD}a")
    }

    @Test(
        "rejects what is not JSON of RFC 8259, and names the place",
        arguments: [
            ("[1,]", 3), (#"{"a":1,}"#, 7), ("[01]", 2), ("[1.]", 3), ("[-]", 2), ("[1-1]", 2), (#"["\x"]"#, 2),
            (#"["\u12g4"]"#, 2), ("[\"a\nb\"]", 3), ("[\"abc", 5), ("", 0), ("{} {}", 3), ("[nul]", 1), (#"["\"#, 2),
            ("[\"\\n\u{1}\"]", 4), (#"{"a" 1}"#, 5), ("[1}", 2),
        ]
    )
    func strictness(text: String, offset: Int) {
        #expect(throws: JSONSyntaxError.malformed(offset: offset)) { try read(text) { _ in } }
    }

    @Test("limits the depth")
    func depth() {
        #expect(throws: Never.self) { try read("[[1]]", maximumDepth: 2) { _ in } }
        #expect(throws: JSONSyntaxError.tooDeep(offset: 2)) { try read("[[[1]]]", maximumDepth: 2) { _ in } }
    }
}
