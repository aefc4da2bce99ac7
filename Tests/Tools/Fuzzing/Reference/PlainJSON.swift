/// A JSON value (RFC 8259) as a tree, made by a simple parser. Halves of surrogate pairs and bytes that are not UTF-8
/// become U+FFFD. The limit for nesting is 512 levels.
indirect enum PlainJSON: Equatable {
    case null
    case bool(Bool)
    /// The text of the number.
    case number(String)
    case string(String)
    case array([PlainJSON])
    case object([Member])

    struct Member: Equatable {
        var key: String
        var value: PlainJSON
    }

    enum Outcome: Equatable {
        case value(PlainJSON)
        case malformed(offset: Int)
        case tooDeep(offset: Int)
    }

    static func parse(_ bytes: [UInt8]) -> Outcome {
        var parser = PlainJSONParser(bytes: bytes)
        do throws(PlainJSONParser.Failure) {
            return .value(try parser.document())
        } catch {
            switch error {
            case .malformed(let offset): return .malformed(offset: offset)
            case .tooDeep(let offset): return .tooDeep(offset: offset)
            }
        }
    }

    var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The depth of nested arrays and objects.
    var depth: Int {
        switch self {
        case .array(let elements): 1 + (elements.map(\.depth).max() ?? 0)
        case .object(let members): 1 + (members.map(\.value.depth).max() ?? 0)
        case .null, .bool, .number, .string: 0
        }
    }
}

struct PlainJSONParser {
    enum Failure: Error {
        case malformed(Int)
        case tooDeep(Int)
    }

    let bytes: [UInt8]
    private var index = 0
    /// The number of nested levels.
    private var levels = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    mutating func document() throws(Failure) -> PlainJSON {
        let value = try value()
        skipSpace()
        guard index == bytes.count else { throw .malformed(index) }
        return value
    }

    private var peek: UInt8? { index < bytes.count ? bytes[index] : nil }

    private mutating func skipSpace() {
        while let peek, [0x20, 0x09, 0x0A, 0x0D].contains(peek) { index += 1 }
    }

    private mutating func expect(_ text: String) throws(Failure) {
        guard bytes[index...].starts(with: text.utf8) else { throw .malformed(index) }
        index += text.utf8.count
    }

    private mutating func value() throws(Failure) -> PlainJSON {
        skipSpace()
        switch peek {
        case UInt8(ascii: "{"): return try object()
        case UInt8(ascii: "["): return try array()
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"):
            try expect("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try expect("false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try expect("null")
            return .null
        default: return .number(try number())
        }
    }

    private mutating func open() throws(Failure) {
        guard levels < 512 else { throw .tooDeep(index) }
        levels += 1
        index += 1
        skipSpace()
    }

    private mutating func close() {
        levels -= 1
        index += 1
    }

    private mutating func object() throws(Failure) -> PlainJSON {
        try open()
        var members: [PlainJSON.Member] = []
        while peek != UInt8(ascii: "}") {
            if !members.isEmpty {
                try expect(",")
                skipSpace()
            }
            let key = try string()
            skipSpace()
            try expect(":")
            members.append(.init(key: key, value: try value()))
            skipSpace()
        }
        close()
        return .object(members)
    }

    private mutating func array() throws(Failure) -> PlainJSON {
        try open()
        var elements: [PlainJSON] = []
        while peek != UInt8(ascii: "]") {
            if !elements.isEmpty { try expect(",") }
            elements.append(try value())
            skipSpace()
        }
        close()
        return .array(elements)
    }

    private mutating func number() throws(Failure) -> String {
        let start = index
        if peek == UInt8(ascii: "-") { index += 1 }
        if peek == UInt8(ascii: "0") { index += 1 } else { try digits() }
        if peek == UInt8(ascii: ".") {
            index += 1
            try digits()
        }
        if peek == UInt8(ascii: "e") || peek == UInt8(ascii: "E") {
            index += 1
            if peek == UInt8(ascii: "+") || peek == UInt8(ascii: "-") { index += 1 }
            try digits()
        }
        return Array(bytes[start..<index]).text
    }

    private mutating func digits() throws(Failure) {
        let start = index
        while let peek, (0x30...0x39).contains(peek) { index += 1 }
        guard index > start else { throw .malformed(index) }
    }

    private mutating func string() throws(Failure) -> String {
        try expect("\"")
        var text: [UInt8] = []
        while peek != UInt8(ascii: "\"") {
            guard let byte = peek, byte >= 0x20 else { throw .malformed(index) }
            if byte == UInt8(ascii: "\\") {
                text += try escape()
            } else {
                text.append(byte)
                index += 1
            }
        }
        index += 1
        return text.text
    }

    private mutating func escape() throws(Failure) -> [UInt8] {
        guard index + 1 < bytes.count else { throw .malformed(index) }
        let letters: [UInt8: UInt8] = [
            0x22: 0x22, 0x5C: 0x5C, 0x2F: 0x2F, 0x62: 0x08, 0x66: 0x0C, 0x6E: 0x0A, 0x72: 0x0D, 0x74: 0x09,
        ]
        if let byte = letters[bytes[index + 1]] {
            index += 2
            return [byte]
        }
        guard let first = unit(at: index) else { throw .malformed(index) }
        index += 6
        if UTF16.isLeadSurrogate(first), let second = unit(at: index), UTF16.isTrailSurrogate(second) {
            index += 6
            return Array(String(decoding: [first, second], as: UTF16.self).utf8)
        }
        return Array(String(decoding: [first], as: UTF16.self).utf8)
    }

    /// Returns the value of a `\uXXXX` escape.
    private func unit(at index: Int) -> UInt16? {
        guard index + 6 <= bytes.count, bytes[index] == UInt8(ascii: "\\"), bytes[index + 1] == UInt8(ascii: "u")
        else { return nil }
        let digits = bytes[index + 2..<index + 6]
        let isHexadecimal = digits.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
        }
        return isHexadecimal ? UInt16(Array(digits).text, radix: 16) : nil
    }
}
