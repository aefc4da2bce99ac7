import Foundation

// The types that both decoders decode. Each type uses another part of the interface of decoders.

enum Shade: String, Codable, CaseIterable { case red, green = "Green", blue }

enum Rank: Int, Codable { case zero, one, two }

enum Figure: Codable {
    case circle(radius: Double)
    case named(String, size: Int?)
    case empty
    case nested(inner: [Int])
}

struct Person: Codable {
    var name: String
    var age: Int
    var email: String?
    var ok: Bool
}

struct Team: Codable {
    var id: Int64
    var lead: Person
    var people: [Person]
    var tags: [String]?
    var kind: Shade?
}

struct Everything: Codable {
    var a: Int?
    var b: Int8?
    var c: Int16?
    var d: Int32?
    var e: Int64?
    var f: UInt?
    var g: UInt8?
    var h: UInt16?
    var i: UInt32?
    var j: UInt64?
    var k: Double?
    var l: Float?
    var m: Bool?
    var n: String?
}

struct Strict: Codable {
    var a: Int
    var b: UInt8
    var k: Double
    var l: Float
    var m: Bool
    var n: String
}

struct Numbered: Codable {
    var x: Int
    var y: [Int]

    enum CodingKeys: Int, CodingKey { case x = 1, y = 2 }
}

struct Unusual: Codable {
    var kelvin: Int?
    var accent: String?
    var quoted: Int?
    var long: Int?
    var empty: Int?

    enum CodingKeys: String, CodingKey {
        case kelvin = "\u{212A}"
        case accent = "é"
        case quoted = "a\"b\\c"
        case long = "aVeryLongNameOfAKeyThatIsNotSmall"
        case empty = ""
    }
}

/// Names that the strategy for snake case changes, and names that no name in the text becomes.
struct Camel: Codable {
    var createdAt: String
    var aVeryLongNameOfAKey: Int?
    var imageURL: Int?
    var _private_: Int?
    var id: Int
    var nestedValue: Nested?

    struct Nested: Codable {
        var innerMap: [String: Int]?
        var itemCount: Int
    }
}

struct Common: Codable {
    var date: Date?
    var data: Data?
    var url: URL?
    var decimal: Decimal?
    var id: UUID?
}

struct Collections: Codable {
    var ints: [Int]?
    var doubles: [Double]?
    var strings: [String]?
    var bools: [Bool]?
    var optionals: [Int?]?
    var map: [String: String]?
    var numbers: [String: Int]?
    var byNumber: [Int: String]?
    var set: Set<Int>?
    var deep: [[String: [Double]]]?
    var floats: [Float]?
    var bytes: [UInt8]?
    var shades: [Shade: Int]?

    /// The elements of dictionaries have no order.
    var canonical: String {
        let maps = [
            map.map(canonicalText), numbers.map(canonicalText), byNumber.map(canonicalText), shades.map(canonicalText),
            deep.map { "\($0.map { canonicalText($0) })" },
        ]
        let lists = "\(String(describing: ints)) \(String(describing: doubles)) \(String(describing: strings))"
        let others =
            "\(String(describing: bools)) \(String(describing: optionals)) \(String(describing: set?.sorted()))"
        return "\(lists) \(others) \(String(describing: floats)) \(String(describing: bytes)) \(maps)"
    }
}

final class Tree: Codable {
    var value: Int
    var children: [Tree]?
    var left: Tree?

    var canonical: String { "\(value) \(children?.map(\.canonical) ?? ["-"]) \(left?.canonical ?? "-")" }
}

/// Any JSON, by trial and error, as some apps read it.
enum AnyJSON: Decodable {
    case null
    case bool(Bool)
    case int(Int)
    case double(Double)
    case string(String)
    case array([AnyJSON])
    case object([String: AnyJSON])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = .int(value)
        } else if let value = try? container.decode(Double.self) {
            self = .double(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([AnyJSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: AnyJSON].self))
        }
    }

    var canonical: String {
        switch self {
        case .array(let items): "[" + items.map(\.canonical).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { "\($0.key):\($0.value.canonical)" }.sorted().joined(separator: ",") + "}"
        default: "\(self)"
        }
    }
}

struct AnyKey: CodingKey {
    var stringValue: String
    var intValue: Int?

    init(stringValue: String) { self.stringValue = stringValue }

    init?(intValue: Int) {
        stringValue = "\(intValue)"
        self.intValue = intValue
    }
}

/// Nested containers, in an order that is not the text's, and members that are read twice.
struct Manual: Decodable {
    private(set) var log: [String] = []

    enum CodingKeys: String, CodingKey { case a, b, c, d, n, inner, list, `super`, people }

    init(from decoder: any Decoder) throws {
        log.append("path \(pathText(decoder.codingPath))")
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if container.contains(.n) { log.append("n nil: \(try container.decodeNil(forKey: .n))") }
        log.append("d \(String(describing: try container.decodeIfPresent(Int.self, forKey: .d)))")
        log.append("a \(try container.decode(Int.self, forKey: .a))")
        log.append("a again \(try container.decode(Double.self, forKey: .a))")
        try readAll(decoder, container)
        try readInner(container)
        try readList(container)
        if container.contains(.super) {
            let decoder = try container.superDecoder()
            log.append("super \(pathText(decoder.codingPath)) \(try Person(from: decoder))")
        }
        let missing = try container.superDecoder(forKey: .people)
        let isNil = try missing.singleValueContainer().decodeNil()
        log.append("people \(pathText(missing.codingPath)) \(isNil)")
        if !isNil { log.append("\(try [Person](from: missing))") }
    }

    private mutating func readAll(
        _ decoder: any Decoder,
        _ container: KeyedDecodingContainer<CodingKeys>
    ) throws {
        let any = try decoder.container(keyedBy: AnyKey.self)
        log.append("keys \(any.allKeys.map(\.stringValue).sorted()) \(container.allKeys.map(\.stringValue).sorted())")
        for key in any.allKeys.sorted(by: { $0.stringValue < $1.stringValue }) {
            log.append("\(key.stringValue): \((try? any.decode(AnyJSON.self, forKey: key))?.canonical ?? "?")")
        }
    }

    private mutating func readInner(_ container: KeyedDecodingContainer<CodingKeys>) throws {
        guard container.contains(.inner) else { return }
        let inner = try container.nestedContainer(keyedBy: CodingKeys.self, forKey: .inner)
        log.append("inner \(pathText(inner.codingPath)) b \(try inner.decode(String.self, forKey: .b))")
        let again = try container.nestedContainer(keyedBy: AnyKey.self, forKey: .inner)
        let value = try inner.decodeIfPresent(String.self, forKey: .b)
        log.append("again \(again.allKeys.count) b \(String(describing: value))")
    }

    private mutating func readList(_ container: KeyedDecodingContainer<CodingKeys>) throws {
        guard container.contains(.list) else { return }
        var list = try container.nestedUnkeyedContainer(forKey: .list)
        log.append("list \(list.count ?? -1) \(pathText(list.codingPath))")
        while !list.isAtEnd {
            if try list.decodeNil() {
                log.append("nil")
            } else if let value = try? list.decode(Int.self) {
                log.append("int \(value) at \(list.currentIndex)")
            } else if let value = try? list.decode(String.self) {
                log.append("string \(value)")
            } else if let value = try? list.decodeIfPresent(Bool.self) {
                log.append("bool \(value)")
            } else if var nested = try? list.nestedUnkeyedContainer() {
                log.append("nested \(pathText(nested.codingPath)) first \(try nested.decode(Person.self))")
            } else {
                let nested = try list.nestedContainer(keyedBy: CodingKeys.self)
                log.append("object \(pathText(nested.codingPath)) \(try nested.decode(Int.self, forKey: .a))")
            }
        }
        if container.contains(.c) { _ = try list.decode(Int.self) }
    }
}

class Base: Decodable {
    var a: Int

    enum CodingKeys: String, CodingKey { case a }
}

final class Derived: Base {
    var b: String

    enum CodingKeys: String, CodingKey { case b }

    required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        b = try container.decode(String.self, forKey: .b)
        try super.init(from: container.superDecoder())
    }

    var canonical: String { "\(a) \(b)" }
}

/// A type that keeps its decoder and its containers, and reads them after the call of the decoder.
struct Late: Decodable {
    let decoder: any Decoder
    let container: KeyedDecodingContainer<AnyKey>
    let list: (any UnkeyedDecodingContainer)?

    init(from decoder: any Decoder) throws {
        self.decoder = decoder
        container = try decoder.container(keyedBy: AnyKey.self)
        list = try? container.nestedUnkeyedContainer(forKey: AnyKey(stringValue: "list"))
    }

    var canonical: String {
        let keys = container.allKeys.map(\.stringValue).sorted()
        let values = keys.map {
            (try? container.decode(AnyJSON.self, forKey: AnyKey(stringValue: $0)))?.canonical ?? "?"
        }
        var items: [String] = []
        if var list {
            while !list.isAtEnd, let item = try? list.decode(AnyJSON.self) { items.append(item.canonical) }
        }
        return "\(keys) \(values) \(items) \((try? Person(from: decoder)).map { "\($0)" } ?? "-")"
    }
}

func canonicalText<Key, Value>(_ dictionary: [Key: Value]) -> String {
    dictionary.map { "\($0.key): \($0.value)" }.sorted().joined(separator: ", ")
}

/// The strings and integers of a path. The decoders use different types for some keys.
func pathText(_ path: [any CodingKey]) -> String {
    path.map { "\($0.stringValue)/\($0.intValue.map(String.init) ?? "-")" }.joined(separator: ".")
}
