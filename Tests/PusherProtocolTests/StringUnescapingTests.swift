import RealtimeJSON
import TestSupport
import TestTraits
import Testing

@testable import PusherProtocol

/// The decoder reads strings in blocks of 64 bytes, and copies 16 bytes at a time. The decoder's result must not depend
/// on where a block begins or ends.
@Suite("JSON strings that are read in blocks", .limited)
struct StringUnescapingTests {
    /// Reads a string byte by byte, from the byte after the opening quotation mark. Returns the text and the offset of
    /// the rest, or nil.
    private static func plainly(_ bytes: ArraySlice<UInt8>) -> (text: String, rest: Int)? {
        var units: [UInt16] = []
        var pending: [UInt8] = []
        func flush() {
            units += Array(String(decoding: pending, as: UTF8.self).utf16)
            pending = []
        }
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            index += 1
            switch byte {
            case UInt8(ascii: "\""):
                flush()
                return (String(decoding: units, as: UTF16.self), index)
            case 0x00..<0x20: return nil
            case UInt8(ascii: "\\"):
                guard index < bytes.endIndex else { return nil }
                let letter = bytes[index]
                index += 1
                let simple: [UInt8: UInt8] = [
                    0x22: 0x22, 0x5C: 0x5C, 0x2F: 0x2F, 0x62: 0x08, 0x66: 0x0C, 0x6E: 0x0A, 0x72: 0x0D, 0x74: 0x09,
                ]
                if let value = simple[letter] {
                    pending.append(value)
                } else if letter == UInt8(ascii: "u"), index + 4 <= bytes.endIndex,
                    let unit = UInt16(String(decoding: bytes[index..<index + 4], as: UTF8.self), radix: 16),
                    bytes[index] != UInt8(ascii: "+")
                {
                    flush()
                    units.append(unit)
                    index += 4
                } else {
                    return nil
                }
            default: pending.append(byte)
            }
        }
        return nil
    }

    private func check(_ inside: [UInt8], behind: [UInt8] = [], sourceLocation: SourceLocation = #_sourceLocation) {
        let bytes = [UInt8(ascii: "\"")] + inside + behind
        let expected = Self.plainly(bytes.dropFirst())
        for isAccelerated in [true, false] {
            var unescaped = UnescapedText(isAccelerated: isAccelerated)
            var offset = 0
            let text = unescaped.readString(bytes.span, at: &offset) { text in
                text.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
            }
            #expect(text == expected?.text, "\(String(decoding: bytes, as: UTF8.self))", sourceLocation: sourceLocation)
            if text != nil { #expect(offset == expected?.rest, sourceLocation: sourceLocation) }
        }
        // The scanner of whole texts reads the same strings.
        let string = expected.map { Array(bytes[..<$0.rest]) } ?? bytes
        let node = try? string.withUnsafeBytes { try JSONNode.read($0) { $0.string } }
        #expect(node == expected?.text, "\(String(decoding: bytes, as: UTF8.self))", sourceLocation: sourceLocation)
    }

    @Test(
        "an escape at any position is read or rejected, whole or cut off",
        arguments: [
            #"\""#, #"\\"#, #"\/"#, #"\n"#, #"\u00e4"#, #"\u20AC"#, #"\ud83d\ude00"#, #"\ud83d"#, #"\ude00"#,
            #"\ud83dx"#,
            #"\ud83d\n"#, #"\ud83d\u0041"#, #"\x"#, #"\u00g0"#, #"\u+123"#, "\u{1}", "é", "€", "😀", #"\u"12"#,
        ]
    )
    func everyPlace(escape: String) {
        for place in 0...140 {
            let inside = Array(repeating: UInt8(ascii: "a"), count: place) + Array(escape.utf8)
            check(inside, behind: Array("\"".utf8))
            check(inside + Array("bc\"".utf8), behind: Array(",\"next\":1}".utf8))
            for length in place..<inside.count { check(Array(inside.prefix(length))) }
        }
    }

    @Test("a row of backslashes of any length is read at any position")
    func backslashes() {
        for place in 0...70 {
            for length in 0...70 {
                let inside =
                    Array(repeating: UInt8(ascii: "a"), count: place)
                    + Array(repeating: UInt8(ascii: "\\"), count: length)
                check(inside + Array("\"".utf8), behind: Array("tail\"".utf8))
                check(inside + Array("n\"".utf8))
            }
        }
    }

    @Test("random strings have the same value as when they are read byte by byte")
    func random() {
        var generator = SeededGenerator(seed: 20_261_121)
        let pieces = [
            "\"", "\\", "\\\\", "\\\"", "\\n", "\\/", "\\u", "\\u0041", "\\ud83d", "\\ude00", "00", "a", "bcdefgh", "é",
            "😀", " ",
            "{\"id\":7}", "\u{1F}", "\u{7F}", String(repeating: "x", count: 40),
        ].map { Array($0.utf8) }
        for _ in 0..<20_000 {
            var inside: [UInt8] = []
            for _ in 0..<Int.random(in: 0..<24, using: &generator) {
                inside += pieces.randomElement(using: &generator) ?? []
            }
            check(inside, behind: Bool.random(using: &generator) ? Array("\"".utf8) : [])
        }
    }
}
