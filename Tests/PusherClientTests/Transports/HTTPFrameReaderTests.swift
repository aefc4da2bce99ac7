import PusherProtocol
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Frames of the HTTP transports", .limited)
struct HTTPFrameReaderTests {
    /// Reads a response in pieces, and returns descriptions of its frames.
    private func read(_ pieces: [[UInt8]], limit: Int = 1_000) -> [String] {
        var reader = HTTPFrameReader(maximumMessageSize: limit, joinedSize: 0)
        var frames: [String] = []
        do {
            for piece in pieces {
                _ = try reader.read(piece.span) { frame in
                    frames.append(describe(frame))
                    return true
                }
            }
        } catch {
            frames.append("\(error)")
        }
        if !reader.isAtFrameEnd { frames.append("…") }
        return frames
    }

    private func read(_ text: String, limit: Int = 1_000) -> [String] { read([Array(text.utf8)], limit: limit) }

    private func describe(_ frame: borrowing HTTPFrame) -> String {
        switch frame {
        case .open(let hostname): "open \(hostname ?? "-")"
        case .message(let bytes): "message " + bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        case .heartbeat(let wantsAnswer): wantsAnswer ? "heartbeat" : "nothing"
        case .close(let code, let reason): "close \(code.rawValue) \(reason)"
        }
    }

    private static let framesOfEachKind: [(String, [String])] = [
        ("o\n", ["open -"]),
        ("o{}\n", ["open -"]),
        ("o{\"hostname\":null}\n", ["open -"]),
        ("o{\"hostname\":\"a.example\"}\n", ["open a.example"]),
        ("a[\"{\\\"event\\\":\\\"e\\\"}\"]\n", ["message {\"event\":\"e\"}"]),
        ("a[\"one\",\"two\" , \"three\"]\n", ["message one", "message two", "message three"]),
        ("a[]\n", ["nothing"]),
        ("m\"one\"\n", ["message one"]),
        ("h\n", ["heartbeat"]),
        (prelude, ["heartbeat"]),
        ("c[3000,\"Go away!\"]\n", ["close 3000 Go away!"]),
        ("c[4001]\n", ["close 4001 "]),
        ("\n\nx[1]\nh\n", ["heartbeat"]),
        ("a[\"\\ud83d\\ude00 \\ud83d\"]\n", ["message 😀 \u{FFFD}"]),
        ("a[\"one\"]", ["…"]),
    ]

    private static let prelude: String = String(repeating: "h", count: 2_048) + "\n"

    @Test("the reader reads each kind of frame", arguments: Self.framesOfEachKind)
    func kinds(text: String, frames: [String]) {
        #expect(read(text, limit: 2_000) == frames)
    }

    private static let malformedFrames: [(String, String)] = [
        ("a\n", "a"), ("a{}\n", "a"), ("a[1]\n", "a"), ("a[\"x\"\n", "a"), ("a[\"x\",]\n", "a"), ("a[\"\\x\"]\n", "a"),
        ("a[\"x\"] y\n", "a"), ("a[\"x\n", "a"), ("m\n", "m"), ("m\"x\" y\n", "m"), ("m[]\n", "m"), ("o[]\n", "o"),
        ("o{\"hostname\":1}\n", "o"), ("c\n", "c"), ("c[]\n", "c"), ("c[\"x\"]\n", "c"), ("c[999]\n", "c"),
        ("c[5000]\n", "c"), ("c[12345]\n", "c"), ("c[4001\n", "c"), ("c4001\n", "c"), (deep, "c"), (longOpening, "o"),
    ]

    private static let deep: String = "c" + String(repeating: "[", count: 3_000) + "\n"
    private static let longOpening: String = "o{\"x\":\"" + String(repeating: "x", count: 5_000) + "\"}\n"

    @Test("the reader reports a malformed frame as a violation", arguments: Self.malformedFrames)
    func malformed(text: String, kind: String) {
        #expect(read(text, limit: 100_000).last == "malformed(\"\(kind)\")")
    }

    @Test("the reader reads the code of a close frame, even if the reason is long or invalid")
    func closeReasons() {
        let reason = String(repeating: "x", count: 122)
        #expect(read("c[4001,\"\(reason)x\"]\n") == ["close 4001 \(reason)x"])
        #expect(read("c[4001,\"\(reason)\u{e9}\"]\n") == ["close 4001 \(reason)"])
        #expect(
            read("c[4001,\"\(String(repeating: "x", count: 5_000))\"]\n", limit: 3_000) == ["close 4001 \(reason)x"]
        )
        for rest in [",null]", ",7]", ",\"x", ",", "] x"] { #expect(read("c[4001\(rest)\n") == ["close 4001 "]) }
        #expect(read("c [ 4001 , \"bye\" ]\n") == ["close 4001 bye"])
    }

    @Test("the reader delivers the messages before a violation in the same frame")
    func partlyMalformed() {
        #expect(read(#"a["one",2]"# + "\n") == ["message one", "malformed(\"a\")"])
    }

    @Test(
        "the reader reports bytes that are not UTF-8 as a violation",
        arguments: [[0x61, 0x5B, 0x22, 0xFF, 0x22, 0x5D, 0x0A], [0x68, 0xC3, 0x0A]]
    )
    func invalidText(bytes: [UInt8]) {
        #expect(read([bytes]) == ["invalidText"])
    }

    @Test("the reader limits frames and messages, even if they come in pieces")
    func limits() {
        let message = String(repeating: "x", count: 101)
        #expect(read("a[\"\(message)\"]\n", limit: 100) == ["tooLong(limit: 100)"])
        let frame = Array("a[\"\(message)\",\"\(message)\"]\n".utf8)
        #expect(read([frame], limit: 100) == ["tooLong(limit: 200)"])
        #expect(read(frame.map { [$0] }, limit: 100) == ["tooLong(limit: 200)", "…"])
        #expect(read(String(repeating: "h", count: 201), limit: 100) == ["tooLong(limit: 200)"])
        #expect(read("a[\"\(String(repeating: "x", count: 100))\"]\n", limit: 100).count == 1)
    }

    @Test("the reader accepts a response that is split anywhere")
    func cuts() {
        let text = [
            String(repeating: "h", count: 100), #"o{"hostname":"h.example"}"#, #"a["{\"event\":\"é😀\"}","two"]"#, "a[]",
            "h",
            #"m"\u00e9""#, #"c[4200,"bye"]"#, "",
        ].joined(separator: "\n")
        let bytes = Array(text.utf8)
        let whole = read([bytes])
        #expect(whole.count == 8)
        for cut in 0...bytes.count {
            #expect(read([Array(bytes[..<cut]), Array(bytes[cut...])]) == whole)
        }
        for size in 1...7 {
            let pieces = stride(from: 0, to: bytes.count, by: size).map {
                Array(bytes[$0..<min($0 + size, bytes.count)])
            }
            #expect(read(pieces) == whole)
        }
    }

    @Test("the reader drops the rest of a piece if the receiver wants no more frames")
    func stop() throws {
        var reader = HTTPFrameReader(maximumMessageSize: 100)
        var count = 0
        let isDone = try reader.read(Array("a[\"one\",\"two\"]\nh\n".utf8).span) { _ in
            count += 1
            return false
        }
        #expect(!isDone && count == 1)
    }

    @Test("random bytes give the same frames or the same violation in one piece and in two pieces")
    func random() {
        var generator = SeededGenerator(seed: 26)
        let letters = Array("oamhc[]{}\",:\\u00e9 1234\n\n".utf8) + [0xC3, 0xA9, 0xFF]
        for _ in 0..<2_000 {
            let bytes = (0..<Int.random(in: 1...60, using: &generator)).map { _ in
                letters.randomElement(using: &generator)!
            }
            let cut = Int.random(in: 0...bytes.count, using: &generator)
            let whole = read([bytes], limit: 20)
            let cutOnce = read([Array(bytes[..<cut]), Array(bytes[cut...])], limit: 20)
            // The limit also applies to the bytes that the reader keeps between two pieces.
            if !whole.contains(where: { $0.hasPrefix("tooLong") })
                && !cutOnce.contains(where: { $0.hasPrefix("tooLong") })
            {
                #expect(cutOnce.filter { $0 != "…" } == whole.filter { $0 != "…" })
            }
        }
    }
}
