import Foundation
import RealtimeMessagePack
import TestSupport
import TestTraits
import Testing

struct CodableSample: Codable, Equatable, Sendable {
    struct Item: Codable, Equatable, Sendable {
        var name: String
        var price: Double
        var tags: [String]?
    }

    enum Shape: Codable, Equatable, Sendable {
        case circle(radius: Float)
        case point
    }

    var text: String
    var small: Int8
    var large: UInt64
    var flag: Bool
    var nothing: Int?
    var data: Data
    var date: Date
    var id: UUID
    var address: URL
    var amount: Decimal
    var items: [Item]
    var byName: [String: Item]
    var byNumber: [Int: String]
    var shapes: [Shape]
}

extension CodableSample {
    init(using generator: inout SeededGenerator) {
        func text(_ generator: inout SeededGenerator) -> String {
            String(
                (0..<Int.random(in: 0...40, using: &generator)).map { _ in
                    "aé€😀\u{1E}\"".randomElement(using: &generator) ?? "a"
                }
            )
        }
        func item(_ generator: inout SeededGenerator) -> Item {
            Item(
                name: text(&generator),
                price: .random(in: -1e6...1e6, using: &generator),
                tags: generator.oneIn(2) ? nil : (0..<Int.random(in: 0...20, using: &generator)).map { "\($0)" }
            )
        }
        self.init(
            text: text(&generator),
            small: .random(in: .min ... .max, using: &generator),
            large: .random(in: .min ... .max, using: &generator),
            flag: .random(using: &generator),
            nothing: generator.oneIn(2) ? nil : .random(in: .min ... .max, using: &generator),
            data: Data((0..<Int.random(in: 0...300, using: &generator)).map { UInt8(truncatingIfNeeded: $0) }),
            date: Date(
                timeIntervalSince1970: Double(Int.random(in: -9_999_999_999...99_999_999_999, using: &generator))
            ),
            id: UUID(),
            address: URL(filePath: "/\(Int.random(in: 0...9, using: &generator))"),
            amount: Decimal(Int.random(in: -999...999, using: &generator)) / 100,
            items: (0..<Int.random(in: 0...20, using: &generator)).map { _ in item(&generator) },
            byName: ["a": item(&generator), "userName": item(&generator)],
            byNumber: [1: "one", -2: "minus two"],
            shapes: [.circle(radius: 1.5), .point]
        )
    }
}

@Suite(.limited) struct MessagePackCodableTests {
    func encode(_ value: some Encodable, _ strategy: MessagePackKeyStrategy = .asIs) throws -> [UInt8] {
        try MessagePackEncoder(keyStrategy: strategy).encode(value)
    }

    func decode<T: Decodable>(_ text: String, as: T.Type = T.self) throws -> T {
        try MessagePackDecoder().decode(T.self, from: hex(text)[...])
    }

    @Test(arguments: 1...100) func everyValueSurvivesARoundTrip(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let sample = CodableSample(using: &generator)
        for strategy in [
            MessagePackKeyStrategy.asIs, .pascalCase, .custom(key: { "_" + $0 }, name: { String($0.dropFirst()) }),
        ] {
            let bytes = try encode(sample, strategy)
            let decoder = MessagePackDecoder(keyStrategy: strategy)
            #expect(try decoder.decode(CodableSample.self, from: bytes[...]) == sample)
        }
    }

    @Test func everyPrefixOfAValueIsAnError() throws {
        var generator = SeededGenerator(seed: 7)
        let bytes = try encode(CodableSample(using: &generator))
        for count in 0..<bytes.count {
            #expect(throws: DecodingError.self) {
                try MessagePackDecoder().decode(CodableSample.self, from: bytes.prefix(count))
            }
        }
        #expect(throws: DecodingError.self) {
            try MessagePackDecoder().decode(CodableSample.self, from: (bytes + [0xC0])[...])
        }
    }

    @Test func encodesTheFormsThatDotNetReads() throws {
        #expect(try encode(["a": 1]) == hex("81 a1 61 01"))
        #expect(try encode([0, 1]) == hex("92 00 01"))
        #expect(try encode(Data([0, 1])) == hex("c4 02 00 01"))
        #expect(try encode(Date(timeIntervalSince1970: 1)) == hex("d6 ff 00000001"))
        #expect(try encode(Date(timeIntervalSince1970: -1)) == hex("c7 0c ff 00000000 ffffffffffffffff"))
        #expect(try encode(Date(timeIntervalSince1970: 1.5)) == hex("d7 ff 77359400 00000001"))
        #expect(try encode(Optional<Int>.none) == hex("c0"))
        #expect(try encode(Decimal(string: "1.5")) == hex("a3 312e35"))
        #expect(try encode(URL(string: "http://a")) == hex("a8 687474703a2f2f61"))
        #expect(try encode([Data([1]), nil]) == hex("92 c4 01 01 c0"))
        let id = try #require(UUID(uuidString: "00000000-0000-0000-0000-000000000001"))
        #expect(try encode(id) == hex("d9 24") + Array(id.uuidString.utf8))
        #expect(try encode(Array(0..<16)).starts(with: hex("dc 00 10")))
    }

    @Test func keysFollowTheStrategyButThoseOfDictionariesDoNot() throws {
        struct Named: Codable, Equatable {
            var userName: String
            var scores: [String: Int]
        }
        let value = Named(userName: "a", scores: ["bestScore": 1])
        let bytes = try encode(value, .pascalCase)
        #expect(
            bytes == hex("82 a8") + Array("UserName".utf8) + hex("a1 61 a6") + Array("Scores".utf8) + hex("81 a9")
                + Array("bestScore".utf8) + hex("01")
        )
        #expect(try MessagePackDecoder(keyStrategy: .pascalCase).decode(Named.self, from: bytes[...]) == value)
    }

    @Test func aDictionaryWithIntegersAsKeysKeepsThem() throws {
        let strategies: [MessagePackKeyStrategy] = [
            .asIs, .pascalCase, .custom(key: { "_" + $0 }, name: { String($0.dropFirst()) }),
        ]
        for strategy in strategies {
            let bytes = try encode([300: "a"], strategy)
            #expect(bytes == hex("81 cd 01 2c a1 61"))
            let decoder = MessagePackDecoder(keyStrategy: strategy)
            #expect(try decoder.decode([Int: String].self, from: bytes[...]) == [300: "a"])
            #expect(try encode([-1: [1: true]], strategy) == hex("81 ff 81 01 c3"))
        }
        // The key of a property stays a text, even if it has a number.
        enum Keys: Int, CodingKey { case one = 1 }
        struct Numbered: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Keys.self)
                try container.encode(true, forKey: .one)
            }
        }
        #expect(try encode(Numbered()) == hex("81 a3 6f 6e 65 c3"))
    }

    @Test func aDictionaryMayHaveIntegersOfAnyWidthAsKeys() throws {
        func check<Key: FixedWidthInteger & Codable>(_ type: Key.Type) throws {
            let keys = Set([Key.min, 0, 1, .max])
            for key in keys {
                let bytes = try encode([key: "a"])
                #expect(bytes == hex("81") + (try encode(key)) + hex("a1 61"))
                #expect(try MessagePackDecoder().decode([Key: String].self, from: bytes[...]) == [key: "a"])
            }
            let all = Dictionary(uniqueKeysWithValues: keys.map { ($0, [$0: Bool?.some(true)]) })
            #expect(try MessagePackDecoder().decode([Key: [Key: Bool?]].self, from: encode(all)[...]) == all)
            let wrapped: [[Key: Int]?] = [nil, [:], [1: 2]]
            #expect(try MessagePackDecoder().decode([[Key: Int]?].self, from: encode(wrapped)[...]) == wrapped)
            #expect(try encode(wrapped) == hex("93 c0 80 81 01 02"))
        }
        try check(Int8.self)
        try check(Int16.self)
        try check(Int32.self)
        try check(Int64.self)
        try check(Int.self)
        try check(UInt8.self)
        try check(UInt16.self)
        try check(UInt32.self)
        try check(UInt64.self)
        try check(UInt.self)
        #expect(throws: EncodingError.self) { try encode([Int128.max: true]) }
    }

    @Test func integersAsKeysMayArriveAsText() throws {
        // JavaScript has only text as keys.
        #expect(try decode("81 a2 2d 31 a1 61") == [Int32(-1): "a"])
        #expect(try decode("81 a2 2d 31 a1 61") == [-1: "a"])
        // Other encoders of Swift may write an array of keys and values.
        #expect(try decode("92 ff a1 61") == [Int32(-1): "a"])
        let error = #expect(throws: DecodingError.self) {
            try decode("81 01 81 cd 01 00 c3", as: [Int8: [Int8: Bool]].self)
        }
        guard case .typeMismatch(_, let context) = error else { throw try #require(error) }
        #expect(context.codingPath.map(\.stringValue) == ["1", "256"])
        #expect(throws: DecodingError.self) { try decode("81 a1 61 c3", as: [UInt8: Bool].self) }
        #expect(throws: DecodingError.self) { try decode("81 ff c3", as: [UInt8: Bool].self) }
        #expect(throws: DecodingError.self) { try decode("92 01", as: [Int: Bool].self) }
    }

    @Test func keysThatAreNoTextKeepTheirNames() throws {
        enum Color: String, Codable, CodingKeyRepresentable { case red }
        let bytes = try encode([Color.red: 1], .pascalCase)
        #expect(bytes == hex("81 a3") + Array("red".utf8) + hex("01"))
        let decoder = MessagePackDecoder(keyStrategy: .pascalCase)
        #expect(try decoder.decode([Color: Int].self, from: bytes[...]) == [.red: 1])
    }

    @Test func theValuesOfADictionaryFollowTheStrategy() throws {
        struct Named: Codable, Equatable { var userName: String }
        let value = ["bestScore": Named(userName: "a")]
        let bytes = try encode(value, .pascalCase)
        #expect(
            bytes == hex("81 a9") + Array("bestScore".utf8) + hex("81 a8") + Array("UserName".utf8) + hex("a1 61")
        )
        let decoder = MessagePackDecoder(keyStrategy: .pascalCase)
        #expect(try decoder.decode([String: Named].self, from: bytes[...]) == value)
    }

    @Test func anUnkeyedContainerHasACount() throws {
        struct Counted: Decodable {
            var counts: [Int?] = []

            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                while !container.isAtEnd {
                    counts.append(container.count)
                    _ = try container.decode(Int.self)
                }
            }
        }
        #expect(try decode("93 01 02 03", as: Counted.self).counts == [3, 3, 3])
        // The array announces more elements than there are bytes.
        #expect(throws: DecodingError.self) { try decode("dd ff ff ff ff 01", as: Counted.self) }
        #expect(throws: DecodingError.self) { try decode("93 01 02", as: Counted.self) }
    }

    @Test func decodesWhatDotNetWrites() throws {
        struct Point: Decodable, Equatable {
            var x: Int
            var y: Double
        }
        // The map has the properties in another order, and an additional unknown property.
        #expect(try decode("83 a1 79 02 a1 7a 93 c0 81 01 02 c3 a1 78 d3 00 00 00 00 00 00 00 01") == Point(x: 1, y: 2))
        // A DateTimeOffset is a pair of a timestamp and minutes.
        #expect(try decode("92 d6 ff 00000001 3c") == Date(timeIntervalSince1970: 1))
        #expect(try decode("cb 3f f8 00 00 00 00 00 00") == Decimal(1.5))
        #expect(try decode("81 01 a1 61") == [1: "a"])
        #expect(try decode("93 01 c0 03") == [1, nil, 3])
        #expect(try decode("ca 3f c0 00 00") == 1.5)
    }

    @Test func errorsNameThePlace() throws {
        let error = #expect(throws: DecodingError.self) { try decode("81 a1 61 92 01 a1 78", as: [String: [Int]].self) }
        guard case .typeMismatch(_, let context) = error else { throw try #require(error) }
        #expect(context.codingPath.map(\.stringValue) == ["a", "1"])
        #expect(context.debugDescription == "expected an integer, found a string of 1 bytes")
        #expect(throws: DecodingError.self) { try decode("cb 7f ef ff ff ff ff ff ff", as: Float.self) }
        #expect(throws: DecodingError.self) { try decode("d5 01 0000", as: Date.self) }
        #expect(throws: DecodingError.self) { try decode("92 01", as: [Int].self) }
    }

    @Test func valuesThatAreNestedTooDeepAreAnError() throws {
        final class Nested: Codable {
            var inner: Nested?
            init() {}
        }
        func nested(_ depth: Int) -> [UInt8] {
            Array(repeatElement(hex("81 a5 696e6e6572"), count: depth).joined()) + hex("80")
        }
        _ = try MessagePackDecoder().decode(Nested.self, from: nested(100)[...])
        #expect(throws: DecodingError.self) { try MessagePackDecoder().decode(Nested.self, from: nested(600)[...]) }
    }

    @Test func classesShareTheContainerOfTheirSuperclass() throws {
        class Base: Encodable {
            var a = 1
        }
        final class Derived: Base {
            var b = 2
            enum Keys: CodingKey { case b }
            override func encode(to encoder: any Encoder) throws {
                try super.encode(to: encoder)
                var container = encoder.container(keyedBy: Keys.self)
                try container.encode(b, forKey: .b)
            }
        }
        #expect(try encode(Derived()) == hex("82 a1 61 01 a1 62 02"))
    }

    @Test func nestedContainersMayBeWrittenInAnyOrder() throws {
        struct Interleaved: Encodable {
            enum Keys: CodingKey { case a, b, c }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Keys.self)
                var list = container.nestedUnkeyedContainer(forKey: .a)
                try container.encode(7, forKey: .b)
                try list.encode(1)
                var inner = list.nestedContainer(keyedBy: Keys.self)
                try list.encode(2)
                try inner.encode(true, forKey: .c)
                try container.encodeNil(forKey: .c)
            }
        }
        #expect(try encode(Interleaved()) == hex("83 a1 61 93 01 81 a1 63 c3 02 a1 62 07 a1 63 c0"))
    }

    @Test func valuesThatMisuseTheEncoderAreAnError() {
        struct Twice: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(1)
                try container.encode(2)
            }
        }
        struct Mixed: Encodable {
            func encode(to encoder: any Encoder) throws {
                var list = encoder.unkeyedContainer()
                try list.encode(1)
                var container = encoder.container(keyedBy: MixedKey.self)
                try container.encode(1, forKey: .a)
            }
            enum MixedKey: CodingKey { case a }
        }
        #expect(throws: EncodingError.self) { try encode(Twice()) }
        #expect(throws: EncodingError.self) { try encode([Mixed()]) }
        #expect(throws: EncodingError.self) { try encode(Date(timeIntervalSince1970: .infinity)) }
    }
}
