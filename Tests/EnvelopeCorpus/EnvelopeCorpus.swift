import TestSupport

/// Makes frames of every shape: valid ones, and ones with a few bytes changed, cut or added.
struct EnvelopeCorpus {
    private var generator: SeededGenerator
    private var hasSurrogates = true

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    mutating func validFrame() -> String {
        var members = [#""event":"# + string()]
        if flip() { members.append(#""data":"# + value(depth: 4)) }
        if flip() { members.append(#""channel":"# + string()) }
        if flip() { members.append(#""user_id":"# + (flip() ? string() : number())) }
        if generator.oneIn(3) { members.append(#""extra":"# + value(depth: 3)) }
        members.shuffle(using: &generator)
        return space() + "{" + members.joined(separator: space() + "," + space()) + space() + "}" + space()
    }

    /// ASCII without surrogates: what is damaged is the grammar, and not the text.
    mutating func damagedFrame() -> [UInt8] {
        hasSurrogates = false
        var bytes = validFrame().utf8.map { $0 < 0x80 ? $0 : UInt8(ascii: "x") }
        for _ in 0...Int.random(in: 0..<3, using: &generator) where !bytes.isEmpty {
            let index = Int.random(in: 0..<bytes.count, using: &generator)
            let byte = Array(#"{}[]",:\0123456789-+.eE/tfnulrsabx "#.utf8).randomElement(using: &generator) ?? 0x20
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: bytes[index] = byte
            case 1: bytes.insert(byte, at: index)
            case 2: bytes.remove(at: index)
            default: bytes.removeSubrange(index...)
            }
        }
        return bytes
    }

    private mutating func flip() -> Bool { generator.oneIn(2) }

    private mutating func space() -> String { ["", "", "", " ", "\n", "\t \r"].randomElement(using: &generator) ?? "" }

    private mutating func value(depth: Int) -> String {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &generator) {
        case 0: return "null"
        case 1: return flip() ? "true" : "false"
        case 2, 3: return number()
        case 4, 5: return string()
        case 6: return "[" + list { $0.value(depth: depth - 1) } + "]"
        default:
            // Keys that differ: what becomes of equal ones is not agreed upon.
            var index = 0
            return "{"
                + list {
                    index += 1
                    return "\"k\(index)\"" + $0.space() + ":" + $0.space() + $0.value(depth: depth - 1)
                } + "}"
        }
    }

    private mutating func list(of element: (inout Self) -> String) -> String {
        (0..<Int.random(in: 0..<4, using: &generator)).map { _ in space() + element(&self) + space() }
            .joined(separator: ",")
    }

    private mutating func number() -> String {
        let numbers = ["0", "-0", "7", "-12", "3.25", "1e3", "2E-2", "-1.5e+2", "9007199254740993", "123456789012345"]
        return numbers.randomElement(using: &generator) ?? "0"
    }

    private mutating func string() -> String {
        let pieces = [
            "a", "pusher:", "Z", " ", "é", "€", "🚀", #"\""#, #"\\"#, #"\/"#, #"\b"#, #"\f"#, #"\n"#, #"\r"#, #"\t"#,
            #"\u0041"#, #"\u00e9"#, #"\u20AC"#, #"\u0000"#, "{", "]", ",",
            hasSurrogates ? #"\ud83d\ude80"# : ":",
        ]
        return "\""
            + (0..<Int.random(in: 0..<6, using: &generator)).map { _ in pieces.randomElement(using: &generator) ?? "" }
            .joined() + "\""
    }
}
