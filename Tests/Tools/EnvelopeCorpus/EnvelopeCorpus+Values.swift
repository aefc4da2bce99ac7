import TestSupport

/// The contents of the frames.
extension EnvelopeCorpus {
    mutating func flip() -> Bool { generator.oneIn(2) }

    mutating func space() -> String { ["", "", "", " ", "\n", "\t \r"].randomElement(using: &generator) ?? "" }

    mutating func value(depth: Int) -> Twin {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &generator) {
        case 0: return Twin("null")
        case 1: return Twin(flip() ? "true" : "false")
        case 2, 3: return number()
        case 4, 5: return innerString()
        case 6: return list(between: "[", "]") { $0.value(depth: depth - 1) }
        default:
            // All keys are different, because the client does not remove repeated keys within the data.
            var index = 0
            return list(between: "{", "}") { corpus in
                index += 1
                return Twin("\"k\(index)\"" + corpus.space() + ":" + corpus.space()) + corpus.value(depth: depth - 1)
            }
        }
    }

    private mutating func list(
        between opening: String,
        _ closing: String,
        of element: (inout Self) -> Twin
    ) -> Twin {
        var list = Twin(opening)
        for index in 0..<Int.random(in: 0..<4, using: &generator) {
            list = list + Twin((index == 0 ? "" : ",") + space()) + element(&self) + Twin(space())
        }
        return list + Twin(closing)
    }

    mutating func number() -> Twin {
        let numbers = ["0", "-0", "7", "-12", "3.25", "1e3", "2E-2", "-1.5e+2", "9007199254740993", "123456789012345"]
        guard kind == .hugeNumbers, flip() else { return Twin(numbers.randomElement(using: &generator) ?? "0") }
        return Twin(EnvelopeAgreement.hugeNumbers.randomElement(using: &generator) ?? "0", plain: "0")
    }

    mutating func string() -> Twin {
        switch kind {
        case .halves: return stringWithHalves()
        case .longStrings: return innerString(pieces: Int.random(in: 0..<200, using: &generator))
        default: return innerString()
        }
    }

    /// Returns a string without halves of surrogate pairs. The decoder does not replace halves within JSON data, so
    /// Foundation would reject the data.
    private mutating func innerString() -> Twin { innerString(pieces: Int.random(in: 0..<6, using: &generator)) }

    private mutating func innerString(pieces count: Int) -> Twin {
        var pieces = [
            "a", "pusher:", "Z", " ", "é", "€", "🚀", #"\""#, #"\\"#, #"\/"#, #"\b"#, #"\f"#, #"\n"#, #"\r"#, #"\t"#,
            #"\u0041"#, #"\u00e9"#, #"\u20AC"#, #"\u0000"#, "{", "]", ",", #"{\"a\":[1,\"b\"]}"#,
            "sixteen letters.", "\u{7F}",
        ]
        // Damage could leave half of a surrogate pair. The string would then be invalid, although the grammar is still
        // valid.
        if kind != .damaged { pieces.append(#"\ud83d\ude80"#) }
        return Twin(
            "\"" + (0..<count).map { _ in pieces.randomElement(using: &generator) ?? "" }.joined() + "\""
        )
    }

    private mutating func stringWithHalves() -> Twin {
        enum Piece { case high, low, other }
        let high = #"\ud83d"#
        let low = #"\uDE80"#
        let other = ["a", #"\n"#, "é", #"\u0041"#].randomElement(using: &generator) ?? "a"
        let pieces = (0..<Int.random(in: 0..<8, using: &generator)).map { _ in
            [Piece.high, .low, .other].randomElement(using: &generator) ?? .other
        }
        var string = Twin("\"")
        for (index, piece) in pieces.enumerated() {
            switch piece {
            case .other:
                string = string + Twin(other)
            case .high:
                let isPaired = index + 1 < pieces.count && pieces[index + 1] == .low
                string = string + Twin(high, plain: isPaired ? high : #"\ufffd"#)
            case .low:
                let isPaired = index > 0 && pieces[index - 1] == .high
                string = string + Twin(low, plain: isPaired ? low : #"\ufffd"#)
            }
        }
        return string + Twin("\"")
    }
}
