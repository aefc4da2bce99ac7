import EventStreamTestSupport
import ServerSentEvents
import TestSupport
import TestTraits
import Testing

@Suite("The parser of event streams", .limited)
struct EventStreamParserTests {
    @Test("the parser returns an event at the CR or LF of its empty line")
    func atOnce() {
        for (text, places) in [("data: x\r\r", [8]), ("data: x\n\ndata", [8]), ("data: x\r\n\r\n", [9])] {
            var seen: [Int] = []
            _ = ParserRun(Array(text.utf8).bytewise) { number, _ in seen.append(number) }
            #expect(seen == places, "\(text.debugDescription)")
        }
    }

    @Test("the parser returns a comment at the end of its line if it reports comments")
    func comments() {
        var seen: [Int] = []
        let run = ParserRun(Array(": a\n:\r\r\ndata: x\n".utf8).bytewise) { number, _ in seen.append(number) }
        #expect(run.elements == [.comment(" a"), .comment("")])
        #expect(seen == [3, 5])
        #expect(ParserRun([Array(": a\n:\n\n".utf8)], reportsComments: false).elements == [])
    }

    @Test("the parser returns each event once if a CR LF or a character is split")
    func cutsInside() {
        let bytes = Array("data: 1€\r\n\r\ndata: 2🎉\r\n\r\n".utf8)
        let expected = [ServerSentEvent(data: "1€"), ServerSentEvent(data: "2🎉")]
        for place in 0...bytes.count { #expect(ParserRun(bytes.cut(at: [place])).events == expected) }
    }

    @Test("the parser keeps an empty first line of data")
    func emptyFirstLine() {
        #expect(ParserRun("data:\ndata: x\n\n").events.map(\.data) == ["\nx"])
    }

    @Test("the parser discards an event and its id if the stream ends within it")
    func unfinished() {
        let run = ParserRun("id: 1\ndata: a\n\nid: 2\ndata: b\n")
        #expect(run.events.map(\.data) == ["a"])
        #expect(run.lastEventID == "1")
    }

    @Test("the last id applies to events without an id, until an empty id clears it")
    func ids() {
        #expect(ParserRun("id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n").events.map(\.id) == ["1", "1", ""])
    }

    @Test("the parser keeps the reconnection time until the server sends another one")
    func reconnectionTime() {
        #expect(ParserRun("retry: 5\ndata: a\n\ndata: b\n\n").reconnectionTime == 5)
        // The reconnection time takes effect when its line ends.
        #expect(ParserRun("retry: 5\n").reconnectionTime == 5)
    }

    @Test("the parser accepts only digits as a reconnection time, and limits large numbers")
    func reconnectionTimes() {
        let times: [(String, Int64?)] = [
            ("0", 0), ("007", 7), ("+5", nil), ("-5", nil), ("5 ", nil), (" 5", nil), ("1000x", nil), ("", nil),
            ("٣", nil), ("9223372036854775807", .max), ("9223372036854775808", .max),
            (String(repeating: "9", count: 30), .max),
        ]
        for (text, time) in times {
            #expect(ParserRun("retry: \(text)\n").reconnectionTime == time, "\(text)")
        }
    }

    @Test("the parser returns no event for a block without data")
    func noData() {
        #expect(ParserRun("event: a\nid: 1\n\n:\n\n\n\n\n").events == [])
    }

    @Test("the parser treats a byte order mark that is not at the start of the stream as data")
    func marks() {
        #expect(ParserRun("\u{FEFF}data: \u{FEFF}a\n\n\u{FEFF}data: b\n\n").events.map(\.data) == ["\u{FEFF}a"])
    }

    @Test("the parser replaces each invalid UTF-8 sequence with a replacement character")
    func malformed() {
        let streams: [([UInt8], String)] = [
            ([0xE2, 0x0A], "\u{FFFD}"), ([0xFF, 0xFE, 0x0A], "\u{FFFD}\u{FFFD}"),
            // An overlong sequence, a surrogate, and a code point beyond Unicode.
            ([0xC0, 0xAF, 0x0A], "\u{FFFD}\u{FFFD}"), ([0xED, 0xA0, 0x80, 0x0A], "\u{FFFD}\u{FFFD}\u{FFFD}"),
            ([0xF4, 0x90, 0x80, 0x80, 0x0A], "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"),
            ([0xE2, 0x82, 0x41, 0x0D], "\u{FFFD}A"),
        ]
        for (bytes, text) in streams {
            let stream = Array("data:".utf8) + bytes + [0x0A, 0x0A]
            #expect(ParserRun([stream]).events.map(\.data) == [text])
            #expect(ParserRun(stream.bytewise).events.map(\.data) == [text])
        }
    }

    @Test("the parser returns no events for a stream of line ends", arguments: ["\n", "\r", "\r\n"])
    func lineEnds(_ end: String) {
        #expect(ParserRun(String(repeating: end, count: 1_000)).elements == [])
    }

    @Test("100,000 comments do not count toward the limit of an event")
    func manyComments() {
        let run = ParserRun(String(repeating: ": keep alive\n\n", count: 100_000) + "data: x\n\n", limit: 100)
        #expect(run.elements.count == 100_001)
        #expect(run.events == [ServerSentEvent(data: "x")])
    }

    @Test("the parser accepts an id of 1 MiB")
    func longID() {
        let id = String(repeating: "i", count: 1 << 20)
        #expect(ParserRun(Array("id: \(id)\ndata: x\n\n".utf8).cut(at: [1_000, 500_000])).lastEventID == id)
    }

    @Test("the parser keeps the last id and the reconnection time for a new response, but no unfinished line")
    func nextResponse() throws {
        var parser = EventStreamParser()
        let first = "id: 1\nretry: 7\ndata: a\n\nevent: e\nid: 2\ndata: lost\n: lost"
        #expect(try parser.elements(Array(first.utf8)).count == 1)
        parser.startResponse()
        let next = try parser.elements(Array("\u{FEFF}data: b\n\n".utf8))
        #expect(next == [.event(ServerSentEvent(data: "b", id: "1"))])
        #expect(parser.reconnectionTime == 7)
        // The LF of the new response does not complete a CR at the end of the last response.
        _ = try parser.elements([0x0D])
        parser.startResponse()
        #expect(try parser.elements(Array("\ndata: c\n\n".utf8)).count == 1)
    }

    @Test("the limit applies to data and the current line together, for each chunk size")
    func limit() {
        let streams: [(String, Bool)] = [
            ("data:" + String(repeating: "x", count: 95), false),
            ("data:" + String(repeating: "x", count: 96), true),
            (":" + String(repeating: "x", count: 99), false), (":" + String(repeating: "x", count: 100), true),
            ("data: 12345678\ndata:" + String(repeating: "x", count: 86), false),
            ("data: 12345678\ndata:" + String(repeating: "x", count: 87), true),
            (String(repeating: "data\n", count: 96) + "data", false),
            (String(repeating: "data\n", count: 97) + "data", true),
        ]
        for (text, isTooLarge) in streams {
            let bytes = Array((text + "\n\n").utf8)
            for chunks in [[bytes], bytes.bytewise, bytes.cut(at: [bytes.count / 2])] {
                #expect(ParserRun(chunks, limit: 100).isTooLarge == isTooLarge, "\(text)")
            }
        }
    }

    @Test("the parser joins data of several MiB, including invalid UTF-8")
    func largeData() {
        let line = "data: " + String(repeating: "€", count: 300_000)
        var stream = Array("\(line)\n\(line)\ndata:".utf8) + [0xFF, 0xE2] + Array("\n\(line)\n\ndata: x\n\n".utf8)
        stream += Array("data:\(String(repeating: "a", count: 1 << 20))\ndata\n\ndata: y\n\n".utf8)
        let whole = ParserRun([stream])
        let text = String(repeating: "€", count: 300_000)
        #expect(whole.events.map(\.data.utf8.count) == [2_700_000 + 3 + 6, 1, 1_048_577, 1])
        #expect(whole.events.first?.data == "\(text)\n\(text)\n\u{FFFD}\u{FFFD}\n\(text)")
        for size in [1_000, 65_537, 1 << 20] {
            #expect(ParserRun(stream.cut(at: Array(stride(from: size, to: stream.count, by: size)))) == whole)
        }
    }

    @Test("the parser throws at the limit if a line does not end")
    func endlessLine() {
        let chunk = [UInt8](repeating: 0x78, count: 1_000)
        var taken = 0
        var parser = EventStreamParser(limit: 10_500)
        #expect(throws: EventStreamParser.TooLarge.self) {
            while true {
                _ = try parser.elements(chunk)
                taken += 1
            }
        }
        #expect(taken == 10)
    }

    @Test("the parser and a simple parser return the same events for 10,000 random streams, whole and in chunks")
    func randomStreams() {
        for seed in 1...10_000 {
            var generator = SeededGenerator(seed: UInt64(seed))
            let stream = RandomStream.bytes(using: &generator)
            let chunks = RandomStream.chunks(of: stream, using: &generator)
            let expected = PlainParser.run(stream)
            #expect(ParserRun(chunks) == expected, "seed \(seed)")
            #expect(ParserRun([stream]) == expected, "seed \(seed)")
        }
    }
}

private enum RandomStream {
    private static let pieces: [[UInt8]] =
        [
            "data", "event", "id", "retry", "Data", "data:", "data: ", "event: ", "id: ", "retry: ", ":", " ", "\t",
            "\0",
            "1", "234", "x", "message", "\u{FEFF}", "€", "🎉", "\u{2028}", "\u{85}", "\u{0B}", "\u{0C}",
        ].map { Array($0.utf8) } + [[0xE2], [0x82], [0xFF], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF0, 0x9F]]
    private static let ends = ["\n", "\r", "\r\n", "\n\n", "\r\r", "\r\n\r\n", "\n\r"].map { Array($0.utf8) }

    static func bytes(using generator: inout SeededGenerator) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0..<Int.random(in: 0...60, using: &generator) {
            let list = generator.oneIn(3) ? ends : pieces
            bytes += list[Int.random(in: list.indices, using: &generator)]
        }
        return bytes
    }

    static func chunks(of bytes: [UInt8], using generator: inout SeededGenerator) -> [[UInt8]] {
        let count = Int.random(in: 0...8, using: &generator)
        return bytes.cut(at: (0..<count).map { _ in Int.random(in: 0...bytes.count, using: &generator) }.sorted())
    }
}
