import TestSupport

/// A frame of the corpus, and a second frame with the same meaning for a decoder that rejects the first.
package struct CorpusFrame: Sendable {
    package var kind: EnvelopeCorpus.Kind
    package var bytes: [UInt8]
    package var plain: [UInt8]

    package var description: String { String(decoding: bytes, as: UTF8.self) }
}

/// Makes frames of every shape. The same seed makes the same frames.
package struct EnvelopeCorpus: Sendable {
    /// The special property of a frame.
    package enum Kind: CaseIterable, Sendable {
        case valid
        /// A frame in which a few bytes are changed, inserted or removed.
        case damaged
        /// A frame that ends too early.
        case cut
        /// Strings of hundreds of bytes, full of escapes.
        case longStrings
        /// Halves of surrogate pairs in strings.
        case halves
        /// Bytes that are not UTF-8.
        case invalidUTF8
        /// Values that are nested up to the limit, and beyond the limit.
        case deep
        case equalKeys
        /// Numbers that no Swift type can represent.
        case hugeNumbers

        /// Whether each frame of this kind is a message.
        package var isAlwaysMessage: Bool {
            switch self {
            case .valid, .longStrings, .halves, .invalidUTF8, .equalKeys, .hugeNumbers: true
            case .damaged, .cut, .deep: false
            }
        }
    }

    /// The contents of the two frames.
    struct Twin {
        var text: String
        var plain: String

        init(_ text: String, plain: String? = nil) {
            self.text = text
            self.plain = plain ?? text
        }

        static func + (left: Twin, right: Twin) -> Twin {
            Twin(left.text + right.text, plain: left.plain + right.plain)
        }
    }

    var generator: SeededGenerator
    var kind = Kind.valid

    package init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    package mutating func frame(_ kind: Kind) -> CorpusFrame {
        self.kind = kind
        switch kind {
        case .valid, .longStrings, .halves, .equalKeys, .hugeNumbers:
            let frame = object()
            return CorpusFrame(kind: kind, bytes: Array(frame.text.utf8), plain: Array(frame.plain.utf8))
        case .damaged:
            return same(damaged())
        case .cut:
            let bytes = Array(object().text.utf8)
            return same(Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &generator))))
        case .deep:
            return same(Array(deepFrame().utf8))
        case .invalidUTF8:
            let bytes = withInvalidBytes(Array(object().text.utf8))
            return CorpusFrame(kind: kind, bytes: bytes, plain: Array(String(decoding: bytes, as: UTF8.self).utf8))
        }
    }

    private func same(_ bytes: [UInt8]) -> CorpusFrame { CorpusFrame(kind: kind, bytes: bytes, plain: bytes) }

    // MARK: Frames

    private mutating func object() -> Twin {
        var members = [member("event", string())]
        if flip() { members.append(member("data", flip() ? string() : value(depth: 4))) }
        if flip() { members.append(member("channel", string())) }
        if flip() { members.append(member("user_id", flip() ? string() : number())) }
        if generator.oneIn(3) { members.append(member("extra", value(depth: 3))) }
        members.shuffle(using: &generator)
        if kind == .equalKeys { repeatKeys(of: &members) }
        let shown = members.map(\.member.text).joined(separator: space() + "," + space())
        let plain = members.filter { !$0.isOverridden }.map(\.member.plain).joined(separator: ",")
        return Twin(space() + "{" + shown + space() + "}" + space(), plain: "{" + plain + "}")
    }

    private struct Member {
        var key: String
        var member: Twin
        /// Whether a later member has the same key.
        var isOverridden = false
    }

    private mutating func member(_ key: String, _ value: Twin) -> Member {
        Member(key: key, member: Twin("\"\(key)\"" + space() + ":" + space()) + value)
    }

    /// Repeats some keys. The decoder uses the last value of each key.
    private mutating func repeatKeys(of members: inout [Member]) {
        for _ in 0...Int.random(in: 0..<3, using: &generator) {
            guard let key = members.randomElement(using: &generator)?.key else { return }
            for index in members.indices where members[index].key == key { members[index].isOverridden = true }
            members.append(member(key, key == "event" ? string() : value(depth: 2)))
        }
    }

    /// Damages a frame of ASCII characters. Damaged ASCII may violate the grammar of JSON, but is always valid UTF-8.
    private mutating func damaged() -> [UInt8] {
        var bytes = object().text.utf8.map { $0 < 0x80 ? $0 : UInt8(ascii: "x") }
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

    private mutating func deepFrame() -> String {
        let levels = Int.random(in: generator.oneIn(4) ? 500..<520 : 0..<40, using: &generator)
        let pairs = (0..<levels).map { _ in flip() ? ("[", "]") : (#"{"a":"#, "}") }
        let key = flip() ? "data" : "extra"
        let opening = pairs.map(\.0).joined()
        let closing = pairs.reversed().map(\.1).joined()
        return #"{"event":"e","\#(key)":"# + opening + number().plain + closing + "}"
    }

    /// Inserts bytes that are not UTF-8 into strings. Outside of strings, these bytes would also damage the grammar.
    private mutating func withInvalidBytes(_ bytes: [UInt8]) -> [UInt8] {
        let invalid: [[UInt8]] = [
            [0xFF], [0x80], [0xC0, 0xAF], [0xC3], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xF0, 0x9F, 0x9A], [0xF4, 0x90],
            [0xF8, 0x88, 0x80, 0x80, 0x80],
        ]
        var result: [UInt8] = []
        var isInString = false
        var isEscaped = false
        /// The last byte outside strings that is not white space. A colon comes before a value, and only values get
        /// invalid bytes.
        var lastMark: UInt8 = 0
        for byte in bytes {
            result.append(byte)
            if isEscaped {
                // An invalid byte between the digits of an escape would damage the grammar.
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isInString.toggle()
                let isValue = lastMark == UInt8(ascii: ":")
                if isInString, isValue, generator.oneIn(2) { result += invalid.randomElement(using: &generator) ?? [] }
            } else if !isInString, byte > 0x20 {
                lastMark = byte
            }
        }
        return result
    }
}
