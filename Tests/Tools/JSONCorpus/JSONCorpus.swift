import Foundation
package import RealtimeJSON
import TestSupport

/// Random documents for the types of ``DecodingSubject``: documents that fit, documents with changes, and documents that
/// are not JSON.
package struct JSONCorpus {
    private var random: SeededGenerator

    package init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    package mutating func options() -> JSONDecodingOptions {
        JSONDecodingOptions(
            keys: chance(70) ? .useDefaultKeys : .convertFromSnakeCase,
            dates: chance(60)
                ? .deferredToDate
                : pick([.secondsSince1970, .millisecondsSince1970, .iso8601, .iso8601WithFractions])
        )
    }

    package mutating func document(for subject: DecodingSubject) -> [UInt8] {
        bytes = []
        change = pick([0, 0, 3, 8, 20, 40])
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<10: writeAny()
        case 10..<12: write(pick(Self.malformed))
        case 12: writeDeep()
        default:
            if let sample = try? JSONDecoder().decode(AnyJSON.self, from: Data(subject.sample.utf8)) { write(sample) }
        }
        if chance(12) { damage() }
        if chance(1) { bytes = [0xEF, 0xBB, 0xBF] + bytes }
        return bytes
    }

    /// A number of JSON's grammar, sometimes with a mistake.
    package mutating func number() -> String {
        if chance(50) { return pick(Self.numbers) }
        var text = chance(25) ? "-" : ""
        text += chance(30) ? "0" : digits(1...1) + digits(0...pick([2, 6, 18, 22, 40]))
        if chance(50) { text += "." + digits((chance(3) ? 0 : 1)...pick([2, 6, 18, 22])) }
        if chance(40) { text += pick(["e", "E", "e-", "e+"]) + digits((chance(3) ? 0 : 1)...pick([1, 1, 2, 3])) }
        return text
    }

    /// A date of ISO 8601, sometimes with a mistake.
    package mutating func date() -> String {
        func part(_ value: Int, _ size: Int) -> String {
            let text = String(value)
            return String(repeating: "0", count: max(0, size - text.utf8.count)) + text
        }
        func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
        let year = chance(90) ? number(1583...2400) : number(0...9999)
        var text = "\(part(year, 4))-\(part(number(0...13), 2))-\(part(number(chance(20) ? 28...32 : 0...28), 2))"
        text += "T\(part(number(0...24), 2)):\(part(number(0...60), 2)):\(part(number(0...60), 2))"
        if chance(40) { text += "." + digits(0...pick([3, 7, 9, 20])) }
        text += pick(["Z", "Z", "Z", "", "+00:00", "-08:30", "+14:00", "+0100", "z", "+1:00", " "])
        if chance(3) { text = String(text.dropFirst(number(0...text.count))) }
        return text
    }

    private mutating func digits(_ range: ClosedRange<Int>) -> String {
        let digits = chance(25) ? "00000000009" : "0123456789"
        return String(
            (0..<Int.random(in: range, using: &random)).map { _ in digits.randomElement(using: &random) ?? "0" }
        )
    }

    // MARK: Chance

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    private mutating func pick<T>(_ list: [T]) -> T { list[Int.random(in: list.indices, using: &random)] }

    // MARK: Writing

    private var bytes: [UInt8] = []
    /// The chance of a change at each place, in percent.
    private var change = 0

    private mutating func write(_ text: String) { bytes += text.utf8 }

    private mutating func writeSpace() {
        if chance(6) {
            write(pick([" ", "  ", "\n", "\t", "\r\n", "                       ", chance(3) ? "\u{B}" : " "]))
        }
    }

    private mutating func writeString(_ content: String) {
        write("\"")
        if change > 0, chance(1) { bytes += pick(Self.malformedUTF8) }
        write(content)
        if change > 0, chance(1) { bytes += pick(Self.malformedUTF8) }
        if change == 0 || chance(99) { write("\"") }
    }

    private mutating func writeAny(_ depth: Int = 0) {
        switch Int.random(in: 0..<(depth > 3 ? 6 : 9), using: &random) {
        case 0: write("null")
        case 1: write(pick(["true", "false"]))
        case 2, 3: write(number())
        case 4: writeString(pick(Self.strings))
        case 5: writeString(chance(80) ? pick(Self.strings) : date())
        case 6: writeList(("[", "]"), 4) { $0.writeAny(depth + 1) }
        default:
            writeList(("{", "}"), 5) {
                $0.writeString($0.pick(Self.keys))
                $0.write(":")
                $0.writeAny(depth + 1)
            }
        }
    }

    private mutating func writeList(_ brackets: (String, String), _ limit: Int, _ element: (inout JSONCorpus) -> Void) {
        write(brackets.0)
        for index in 0..<Int.random(in: 0..<limit, using: &random) {
            if index > 0 { write(",") }
            element(&self)
        }
        if chance(2) { write(",") }
        write(brackets.1)
    }

    private mutating func writeDeep() {
        let depth = pick([100, 510, 511, 512, 513, 514, 1000])
        let open = pick([["["], ["{\"a\":"], ["[", "{\"left\":"]])
        for index in 0..<depth { write(open[index % open.count]) }
        write(pick(["1", "null", ""]))
        for index in (0..<depth).reversed() { write(open[index % open.count] == "[" ? "]" : "}") }
    }

    private mutating func write(_ value: AnyJSON) {
        writeSpace()
        if chance(change) { writeOther() } else { writeUnchanged(value) }
        writeSpace()
    }

    private mutating func writeOther() {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: write("null")
        case 1...4: write(number())
        case 5: writeString(pick(Self.strings))
        case 6: writeString(date())
        case 7: write(pick(["true", "false", "tru", "nul", "True", "{}", "[]", "[null]", "", "falsee"]))
        default: writeAny(1)
        }
    }

    private mutating func writeUnchanged(_ value: AnyJSON) {
        switch value {
        case .null: write("null")
        case .bool(let value): write("\(value)")
        case .int(let value): write(chance(5) ? "\(value).0" : "\(value)")
        case .double(let value): write("\(value)")
        case .string(let value): writeString(Self.escaped(value))
        case .array(let items):
            var items = items
            if chance(change) { items.shuffle(using: &random) }
            if chance(change), let item = items.randomElement(using: &random) { items += [item, item, item] }
            write("[")
            for (index, item) in items.enumerated() {
                if index > 0 { write(",") }
                write(item)
            }
            if chance(change / 4) { write(",") }
            write("]")
        case .object(let members): writeObject(members)
        }
    }

    private mutating func writeObject(_ members: [String: AnyJSON]) {
        var members = members.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }
        if chance(70) { members.shuffle(using: &random) }
        if chance(change), !members.isEmpty { members.remove(at: Int.random(in: members.indices, using: &random)) }
        if chance(change), let member = members.randomElement(using: &random) {
            let value = chance(50) ? AnyJSON.string("again") : .int(99)
            members.insert((member.0, value), at: Int.random(in: 0...members.count, using: &random))
        }
        if chance(change) {
            for _ in 0..<Int.random(in: 1...(chance(10) ? 40 : 4), using: &random) {
                let name = "u\(Int.random(in: 0..<60, using: &random))"
                members.insert((name, .int(1)), at: Int.random(in: 0...members.count, using: &random))
            }
        }
        write("{")
        for (index, member) in members.enumerated() {
            if index > 0 { write(",") }
            writeSpace()
            writeKey(member.0)
            writeSpace()
            write(":")
            write(member.1)
        }
        if chance(change / 4) { write(",") }
        write("}")
    }

    private mutating func writeKey(_ name: String) {
        if chance(change / 2) {
            writeString(pick(Self.keys))
        } else if change > 0, chance(10) {
            // Other spellings of the same name, for the strategy of snake case.
            writeString(
                Self.escaped(
                    pick([
                        name.uppercased(), name.replacing("_", with: "__"), "_" + name, name + "_",
                        name.replacing("_", with: ""), name.capitalized,
                    ])
                )
            )
        } else if chance(3), let first = name.unicodeScalars.first, first.isASCII, first != "\"" {
            let digits = String(first.value + 0x100, radix: 16).dropFirst()
            writeString("\\u00\(digits)\(Self.escaped(String(name.dropFirst())))")
        } else {
            writeString(Self.escaped(name))
        }
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }

    private mutating func damage() {
        for _ in 0..<Int.random(in: 1...2, using: &random) where !bytes.isEmpty {
            let index = Int.random(in: bytes.indices, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0: bytes.remove(at: index)
            // A zero could make Foundation's decoder read another encoding.
            case 1: bytes[index] = UInt8.random(in: 1...0xEE, using: &random)
            case 2: bytes.insert(pick(Array("\"\\{}[]:,0-.eE+ \n\tu".utf8)), at: index)
            case 3: bytes.removeSubrange(index...)
            default: bytes.swapAt(index, Int.random(in: bytes.indices, using: &random))
            }
        }
    }
}

extension JSONCorpus {
    /// The result of comparing the two decoders.
    package struct Comparison {
        package var differences: [String] = []
        package var caseCount = 0
        /// The number of documents that our decoder accepted.
        package var valueCount = 0
    }

    /// Compares the decoders: a document for each type in turn, and for each document a number and a date.
    package mutating func compare(count: Int) -> Comparison {
        var comparison = Comparison()
        for index in 0..<count where comparison.differences.count < 20 {
            let subject = DecodingSubject.all[index % DecodingSubject.all.count]
            compare(subject, document(for: subject), into: &comparison)
            let number = DecodingSubject.numbers[index % DecodingSubject.numbers.count]
            let text = self.number()
            if !Self.isZeroWithExponent(text) { compare(number, Array(text.utf8), into: &comparison) }
            let date = DecodingSubject.dates[0]
            compare(date, Array("\"\(self.date())\"".utf8), into: &comparison)
        }
        return comparison
    }

    private mutating func compare(_ subject: DecodingSubject, _ text: [UInt8], into comparison: inout Comparison) {
        let options = options()
        comparison.caseCount += 1
        if let difference = subject.difference(options, text), !Self.hasZeroWithExponent(text) {
            comparison.differences.append("\(String(decoding: text, as: UTF8.self).debugDescription): \(difference)")
        } else if comparison.caseCount % 8 == 0, subject.isDecodable(options, text) {
            comparison.valueCount += 1
        }
    }

    /// Whether a document contains a zero with an exponent, which Foundation's decoder sometimes rejects.
    package static func hasZeroWithExponent(_ text: [UInt8]) -> Bool {
        text.split { !"0123456789+-.eE".utf8.contains($0) }.contains {
            isZeroWithExponent(String(decoding: $0, as: UTF8.self))
        }
    }

    private static func isZeroWithExponent(_ number: String) -> Bool {
        let digits = number.prefix { !"eE".contains($0) }
        return digits.count < number.count && digits.contains("0") && digits.allSatisfy { "-0.".contains($0) }
    }
}

// MARK: Parts of documents

extension JSONCorpus {
    private static let numbers = [
        "0", "-0", "1", "-1", "7", "42", "127", "128", "-128", "-129", "255", "256", "32767", "32768", "65535", "65536",
        "2147483647", "2147483648", "-2147483649", "4294967295", "4294967296", "9007199254740991", "9007199254740992",
        "9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
        "-9223372036854775809",
        "18446744073709551615", "18446744073709551616", "340282366920938463463374607431768211455",
        "340282366920938463463374607431768211456", "170141183460469231731687303715884105728",
        "123456789012345678901234567890123456789012345678901234567890", "1.0", "1.5", "-0.0", "0.1", "0.5", "1e2",
        "1E2",
        "1e+2", "1e-2", "100e-2", "1.5e1", "1e400", "1e-400", "0e400", "0.0e-400", "4.9e-324", "2e-324",
        "1.7976931348623157e308", "1.7976931348623159e308", "3.4028235e38", "3.5e38", "1e-46", "1.1754944e-38",
        "9007199254740993.0", "9007199254740993.5", "9007199254740992.5", "12345678901234567.0", "1e18", "1e19", "1e20",
        "1e30", "1e38", "1e39", "123456789.125", "0.30000000000000004", "2.2250738585072011e-308", "1.0000000000000001",
        "9.5367431640625e-7", "6.02214076e23", "1e22", "1e23", "8.5e22", "3.14159265358979323846264338327950288",
        "0.000001", "123e5", "184467440737095516.15e2", "1844674407370955161.5e1", "01", "-01", "00", "1.", ".5", "-",
        "+1", "1e", "1e+", "1.e5", "1.5.5", "1e5e5", "1-2", "--1", "-a", "0x10", "1_000", "NaN", "Infinity", "-.5",
        "0.",
        "1.2e3.4", "5e0", "5.0e0", "16777217", "16777216.5", "1e10", "-1e-10", "2e1", "25.5e1",
        "1234567890123456789e-18", "0." + String(repeating: "0", count: 128) + "1e145",
    ]

    private static let strings = [
        "", "a", "text", "true", "null", "1", "1.5", "red", "Green", "E621E1F8-C36C-495A-93FC-0C247A3E6E5F", "aGVsbG8=",
        "aGVsbG8", "aGVs bG8=", "https://example.com/a b", "https://example.com/?q=1#f", "http://[::1", "é", "e\\u0301",
        "\\u212A", "K", "😀", "\\ud83d\\ude00", "\\ud83d", "\\ude00", "\\ud83d\\u0041", "\\ud83dx", "\\u00e9", "\\u0000",
        "\\u12", "\\u12G4", "\\n\\t\\r\\b\\f\\/\\\\\\\"", "\\x", "\\", "\u{1}", "tab\there", "line\nbreak",
        "long text that does not fit into a small string",
        "longer text with an escape \\n after more than sixteen bytes and more", "Grüße aus Köln am Rhein, schön",
        "\u{FFFD}", "\u{10FFFF}", "\\u007f", "\\u005cu0041", "name", "0123456789abcde", "0123456789abcdef",
        "\\uD83D\\uDE00\\uD83D", "\\u20AC uro", "日本語のテキスト", "\\u65e5\\u672c",
    ]

    private static let malformedUTF8: [[UInt8]] = [
        [0xC3], [0xC3, 0x28], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xC0, 0x80], [0x80],
        [0xF0, 0x9F, 0x98], [0xE0, 0x80, 0x80], [0xF4, 0x90, 0x80, 0x80],
    ]

    private static let keys = [
        "name", "age", "email", "ok", "id", "lead", "people", "tags", "kind", "a", "b", "c", "d", "e", "k", "l", "m",
        "n",
        "x", "y", "1", "2", "K", "\\u212A", "\u{212A}", "é", "e\u{301}", "\\u0061", "\\u006eame", "date", "data", "url",
        "decimal", "ints", "map", "value", "children", "left", "inner", "list", "super", "circle", "radius", "named",
        "_0", "size", "empty", "", "a\\\"b\\\\c", "aVeryLongNameOfAKeyThatIsNotSmall", "unknown", "\\ud83d", "nested",
        "aVeryLongNameOfAKeyThatIsNotSmalL", "created_at", "createdAt", "CREATED_AT", "_created_at", "by_number",
        "byNumber", "a_b", "1st_item", "first-name_x", "é_b", "nested_value", "item_count", "itemCount", "image_url",
        "imageURL", "_", "__", "a__b_",
    ]

    private static let malformed = [
        "", " ", "[", "{", "]", "[[", "{\"a\"", "{\"a\":", "[1", "[1 2]", "{\"a\" 1}", "{,}", "[,]", "{a:1}", "'a'",
        "//",
        "[1]]", "1 1", "nulll", "[1,]", "{\"a\":1,}", "\"", "\"\\\"", "\"\\u12\"",
    ]
}
