import Foundation
import TestTraits
import Testing

@testable import pusher

@Suite("JSON lines of the tool", .limited)
struct JSONLineTests {
    @Test("JSON on a terminal escapes C1 controls, DEL, bidirectional marks and line separators, and keeps its value")
    func terminal() throws {
        let value = "a\u{9B}2J \u{7F} \u{202E} \u{2066} \u{2028} é 👍"
        let line = JSONLine.forTerminal(JSONLine.object([("data", JSONLine.string(value))]))
        #expect(line == #"{"data":"a\u009B2J \u007F \u202E \u2066 \u2028 é 👍"}"#)
        #expect(try JSONDecoder().decode([String: String].self, from: Data(line.utf8)) == ["data": value])
    }
}
