/// Finds the parts of a JSON text, and decodes only the parts that the hub protocol itself needs.
///
/// The scanner is not recursive, and arbitrary bytes cannot make it trap.
package struct JSONScanner {
    /// The maximum nesting of objects and arrays. Foundation's decoder has the same limit.
    static let maximumDepth = 512

    private let bytes: ArraySlice<UInt8>
    private var position: Int

    private init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    // MARK: Reading whole texts

    /// Returns the members of an object in order, with their values as JSON text.
    package static func members(
        of object: ArraySlice<UInt8>
    ) throws(HubProtocolViolation) -> [(name: String, value: ArraySlice<UInt8>)] {
        var scanner = JSONScanner(object)
        var members: [(name: String, value: ArraySlice<UInt8>)] = []
        try scanner.list(from: "{", to: "}") { (scanner) throws(HubProtocolViolation) in
            let name = try string(try scanner.skipString())
            try scanner.expect(":")
            members.append((name, try scanner.skipValue()))
        }
        return members
    }

    /// Returns the elements of an array as JSON text.
    package static func elements(
        of array: ArraySlice<UInt8>
    ) throws(HubProtocolViolation) -> [ArraySlice<UInt8>] {
        var scanner = JSONScanner(array)
        var elements: [ArraySlice<UInt8>] = []
        try scanner.list(from: "[", to: "]") { (scanner) throws(HubProtocolViolation) in
            elements.append(try scanner.skipValue())
        }
        return elements
    }

    package static func isNull(_ value: ArraySlice<UInt8>) -> Bool { value.elementsEqual("null".utf8) }

    /// Parses a non-negative integer. Returns `nil` for any other value, and for a number that is too large.
    package static func unsigned(_ value: ArraySlice<UInt8>) -> UInt64? {
        guard value.first.map(isDigit) == true else { return nil }
        return UInt64(String(decoding: value, as: UTF8.self))
    }

    package static func bool(_ value: ArraySlice<UInt8>) -> Bool? {
        value.elementsEqual("true".utf8) ? true : value.elementsEqual("false".utf8) ? false : nil
    }

    /// Decodes the text of a string. Bytes that are not UTF-8, and halves of surrogate pairs, become U+FFFD.
    package static func string(_ value: ArraySlice<UInt8>) throws(HubProtocolViolation) -> String {
        guard value.count >= 2, value.first == UInt8(ascii: "\""), value.last == UInt8(ascii: "\"") else {
            throw HubProtocolViolation("a JSON value is not a string")
        }
        let content = value.dropFirst().dropLast()
        guard content.contains(UInt8(ascii: "\\")) else { return String(decoding: content, as: UTF8.self) }
        return try unescape(content)
    }

    private static func unescape(_ content: ArraySlice<UInt8>) throws(HubProtocolViolation) -> String {
        var plain: [UInt8] = []
        // The array collects the UTF-16 units of escapes until a character is complete.
        var units: [UInt16] = []
        var index = content.startIndex
        while index < content.endIndex {
            if content[index] == UInt8(ascii: "\\"), content[index...].count >= 2 {
                let escape = content[index + 1]
                if escape == UInt8(ascii: "u") {
                    let digits = content[(index + 2)...].prefix(4)
                    // The initializer of `UInt16` also accepts a sign.
                    guard digits.count == 4, digits.allSatisfy(isHexDigit),
                        let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
                    else {
                        throw HubProtocolViolation("a JSON string contains an invalid escape")
                    }
                    units.append(unit)
                    index += 6
                    continue
                }
                plain += String(decoding: units, as: UTF16.self).utf8
                units = []
                plain.append(try unescaped(escape))
                index += 2
            } else {
                plain += String(decoding: units, as: UTF16.self).utf8
                units = []
                plain.append(content[index])
                index += 1
            }
        }
        plain += String(decoding: units, as: UTF16.self).utf8
        return String(decoding: plain, as: UTF8.self)
    }

    private static func unescaped(_ escape: UInt8) throws(HubProtocolViolation) -> UInt8 {
        switch escape {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): escape
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: throw HubProtocolViolation("a JSON string contains an invalid escape")
        }
    }

    // MARK: Scanning

    /// Reads a list, after which the text must end.
    private mutating func list(
        from start: Character,
        to end: Character,
        _ element: (inout JSONScanner) throws(HubProtocolViolation) -> Void
    ) throws(HubProtocolViolation) {
        try expect(start)
        if !take(end) {
            repeat {
                skipSpace()
                try element(&self)
            } while take(",")
            try expect(end)
        }
        skipSpace()
        guard position == bytes.endIndex else { throw invalid() }
    }

    private func invalid() -> HubProtocolViolation {
        HubProtocolViolation("a message is not valid JSON at byte \(position - bytes.startIndex)")
    }

    private var current: UInt8? { position < bytes.endIndex ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func take(_ character: Character) -> Bool {
        skipSpace()
        guard current == character.asciiValue else { return false }
        position += 1
        return true
    }

    private mutating func expect(_ character: Character) throws(HubProtocolViolation) {
        guard take(character) else { throw invalid() }
    }

    /// Skips a value, and returns it.
    private mutating func skipValue() throws(HubProtocolViolation) -> ArraySlice<UInt8> {
        skipSpace()
        let start = position
        // The stack of open containers; `true` for an object.
        var open: [Bool] = []
        repeat {
            skipSpace()
            switch current {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                let isObject = current == UInt8(ascii: "{")
                position += 1
                guard open.count < Self.maximumDepth else { throw HubProtocolViolation("JSON is nested too deeply") }
                if take(isObject ? "}" : "]") { break }
                open.append(isObject)
                if isObject { try skipName() }
                continue
            case UInt8(ascii: "\""): _ = try skipString()
            default: try skipScalar()
            }
            // A complete value can also complete the containers around it.
            while let isObject = open.last {
                if take(",") {
                    if isObject { try skipName() }
                    break
                }
                try expect(isObject ? "}" : "]")
                open.removeLast()
            }
        } while !open.isEmpty
        return bytes[start..<position]
    }

    private mutating func skipName() throws(HubProtocolViolation) {
        skipSpace()
        _ = try skipString()
        try expect(":")
    }

    private mutating func skipString() throws(HubProtocolViolation) -> ArraySlice<UInt8> {
        let start = position
        guard current == UInt8(ascii: "\"") else { throw invalid() }
        position += 1
        while let byte = current {
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return bytes[start..<position]
            case UInt8(ascii: "\\"): position += 2
            case 0..<0x20: throw invalid()
            default: position += 1
            }
        }
        throw invalid()
    }

    private mutating func skipScalar() throws(HubProtocolViolation) {
        let start = position
        while let byte = current, Self.isPartOfScalar(byte) { position += 1 }
        let scalar = bytes[start..<position]
        let isWord = ["true", "false", "null"].contains { scalar.elementsEqual($0.utf8) }
        guard isWord || Self.isNumber(scalar) else { throw invalid() }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    private static func isPartOfScalar(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "E"):
            true
        default: false
        }
    }

    private static func isNumber(_ scalar: ArraySlice<UInt8>) -> Bool {
        var rest = scalar
        func digits() -> Bool {
            let count = rest.prefix(while: isDigit).count
            rest = rest.dropFirst(count)
            return count > 0
        }
        if rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
        let startsWithZero = rest.first == UInt8(ascii: "0")
        let start = rest.startIndex
        guard digits(), !startsWithZero || rest.startIndex == start + 1 else { return false }
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            guard digits() else { return false }
        }
        if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
            rest = rest.dropFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
            guard digits() else { return false }
        }
        return rest.isEmpty
    }
}
