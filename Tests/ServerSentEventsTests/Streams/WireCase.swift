import EventStreamTestSupport
import ServerSentEvents

/// A body that a server sends in pieces, and the events that it contains. The cases are from the contract tests for SSE
/// clients.
struct WireCase: Sendable, CustomStringConvertible {
    enum Expected: Hashable, Sendable {
        case event(String, type: String = "message", id: String = "")
        case comment(String)
    }

    var description: String
    var chunks: [[UInt8]]
    var expected: [Expected]

    init(_ description: String, _ chunks: [String], _ expected: [Expected]) {
        self.init(description, bytes: chunks.map { Array($0.utf8) }, expected)
    }

    init(_ description: String, bytes chunks: [[UInt8]], _ expected: [Expected]) {
        (self.description, self.chunks, self.expected) = (description, chunks, expected)
    }

    var items: [EventStreamItem] {
        expected.map { expected in
            switch expected {
            case .event(let data, let type, let id): .event(ServerSentEvent(event: type, data: data, id: id))
            case .comment(let text): .comment(text)
            }
        }
    }

    static let all = basic + lineEnds + comments + marks

    static let basic: [WireCase] = {
        let large = String(repeating: "x", count: 5 << 20)
        let hundred = (1...100).map { "data: \($0)\n\n" }.joined()
        let text = "data: €豆腐\n\n"
        return [
            WireCase("one line in one chunk", ["data: Hello\n\n"], [.event("Hello")]),
            WireCase(
                "two messages in three chunks, the second with parts of both",
                ["data: Hel", "lo\n\ndata: Wor", "ld\n\n"],
                [.event("Hello"), .event("World")]
            ),
            WireCase("5 MB in one chunk", ["data: \(large)\n\n"], [.event(large)]),
            WireCase("5 MB in two chunks", ["data: \(large)", "\(large)\n\n"], [.event(large + large)]),
            WireCase("one line in two chunks", ["data: Hel", "lo\n\n"], [.event("Hello")]),
            WireCase("two messages in one chunk", ["data: a\n\ndata: b\n\n"], [.event("a"), .event("b")]),
            WireCase("a message with two lines of data", ["data: a\ndata: b\n\n"], [.event("a\nb")]),
            WireCase("a message with empty data", ["data:\n\n"], [.event("")]),
            WireCase(
                "a message with a type",
                ["event: greeting\ndata: Hello\n\n"],
                [.event("Hello", type: "greeting")]
            ),
            WireCase(
                "a message without a type has the default type",
                ["event: a\ndata: x\n\ndata: y\n\n"],
                [.event("x", type: "a"), .event("y")]
            ),
            WireCase("a message with an id", ["id: abc\ndata: Hello\n\n"], [.event("Hello", id: "abc")]),
            WireCase(
                "a message with a type and an id",
                ["event: e\nid: i\ndata: d\n\n"],
                [.event("d", type: "e", id: "i")]
            ),
            WireCase("the parser ignores an id with NUL", ["id: a\0b\ndata: Hello\n\n"], [.event("Hello")]),
            WireCase(
                "a message without an id has the last id",
                ["id: a\ndata: x\n\ndata: y\n\n"],
                [.event("x", id: "a"), .event("y", id: "a")]
            ),
            WireCase(
                "an empty id clears the last id",
                ["id: a\ndata: x\n\nid:\ndata: y\n\n"],
                [.event("x", id: "a"), .event("y")]
            ),
            WireCase("fields in reverse order", ["data: d\nid: i\nevent: e\n\n"], [.event("d", type: "e", id: "i")]),
            WireCase("the parser ignores an unknown field", ["other: x\ndata: Hello\n\n"], [.event("Hello")]),
            WireCase("no space after the colon", ["data:Hello\n\n"], [.event("Hello")]),
            WireCase("data that begins with a space", ["data:  Hello\n\n"], [.event(" Hello")]),
            WireCase("a data field without a colon", ["data\n\n"], [.event("")]),
            WireCase("data with multibyte characters", [text], [.event("€豆腐")]),
            WireCase("100 messages", [hundred], (1...100).map { .event("\($0)") }),
            WireCase("multibyte characters, byte by byte", bytes: Array(text.utf8).bytewise, [.event("€豆腐")]),
        ]
    }()

    static let lineEnds: [WireCase] = {
        let texts: [(String, [String], [String])] = [
            ("one line", ["data: Hello", "", ""], ["Hello"]),
            ("one line, then an event of two lines", ["data: a", "", "data: b", "data: c", "", ""], ["a", "b\nc"]),
            ("an empty first line", ["data:", "data: b", "data: c", "", ""], ["\nb\nc"]),
            ("an empty line of data between two lines", ["data: a", "data:", "data: c", "", ""], ["a\n\nc"]),
            ("one additional empty line between events", ["data: a", "", "", "data: b", "", ""], ["a", "b"]),
            ("two additional empty lines between events", ["data: a", "", "", "", "data: b", "", ""], ["a", "b"]),
        ]
        var cases: [WireCase] = []
        for (name, end) in [("LF", "\n"), ("CR LF", "\r\n"), ("CR", "\r")] {
            for (text, lines, expected) in texts {
                let bytes = Array(lines.joined(separator: end).utf8)
                for (way, size) in [("one chunk", bytes.count), ("chunks of one byte", 1), ("chunks of two bytes", 2)] {
                    cases.append(
                        WireCase("\(name), \(text), \(way)", bytes: bytes.pieces(of: size), expected.map { .event($0) })
                    )
                }
            }
        }
        return cases + [WireCase("CR LF split between two chunks", ["data: a\r", "\n\r", "\n"], [.event("a")])]
    }()

    static let comments = [
        WireCase("a comment", [": Hello\n"], [.comment(" Hello")]),
        WireCase("two comments", [":a\n:b\n"], [.comment("a"), .comment("b")]),
        WireCase("a comment before an event", [":a\ndata: x\n\n"], [.comment("a"), .event("x")]),
        WireCase("a comment after an event", ["data: x\n\n:a\n"], [.event("x"), .comment("a")]),
    ]

    static let marks: [WireCase] = {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let event = Array("data: Hello\n\n".utf8)
        return [
            WireCase("a byte order mark before an event", bytes: [mark + event], [.event("Hello")]),
            WireCase(
                "a byte order mark before an event with a type and an id",
                ["\u{FEFF}event: e\nid: i\ndata: d\n\n"],
                [.event("d", type: "e", id: "i")]
            ),
            WireCase(
                "a byte order mark before two events",
                ["\u{FEFF}data: a\n\ndata: b\n\n"],
                [.event("a"), .event("b")]
            ),
            WireCase(
                "a byte order mark within data is kept",
                ["data: First\n\ndata: \u{FEFF}Second\n\n"],
                [.event("First"), .event("\u{FEFF}Second")]
            ),
            WireCase("a byte order mark in two chunks", bytes: [[0xEF, 0xBB], [0xBF] + event], [.event("Hello")]),
            WireCase("a byte order mark in three chunks", bytes: mark.bytewise + [event], [.event("Hello")]),
            WireCase(
                "only the first of two byte order marks is ignored",
                ["\u{FEFF}\u{FEFF}data: 1\n\ndata: 2\n\n"],
                [.event("2")]
            ),
            WireCase("an event without a byte order mark", bytes: [event], [.event("Hello")]),
            WireCase(
                "a byte order mark before an event of two lines",
                ["\u{FEFF}data: a\ndata: b\n\n"],
                [.event("a\nb")]
            ),
            WireCase("a byte order mark before a comment", ["\u{FEFF}:a\ndata: x\n\n"], [.comment("a"), .event("x")]),
            WireCase("a byte order mark before empty data", ["\u{FEFF}data:\n\n"], [.event("")]),
        ]
    }()
}

extension [UInt8] {
    func pieces(of size: Int) -> [[UInt8]] { cut(at: Array<Int>(stride(from: size, to: count, by: size))) }
}
