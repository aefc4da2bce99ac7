import Foundation
import RealtimeJSON
import TestTraits
import Testing

/// Both encoders write the values, and the texts have the same members and elements.
@Suite("JSON encoder, compared with Foundation's", .limited)
struct EncodingTests {
    /// The value of a text, with sorted members and the numbers as they are written.
    private func canonical(_ text: [UInt8]) throws -> String {
        func canonical(_ node: JSONNode) -> String {
            switch node.kind {
            case .null: return "null"
            case .bool: return "\(node.bool == true)"
            case .number: return node.number ?? ""
            case .string: return JSONWriter.string(node.string ?? "")
            case .array:
                var elements: [String] = []
                for element in node.elements { elements.append(canonical(element)) }
                return JSONWriter.array(elements)
            case .object:
                var members: [String] = []
                for (name, member) in node.members { members.append("\(JSONWriter.string(name)):\(canonical(member))") }
                return "{\(members.sorted().joined(separator: ","))}"
            }
        }
        return try JSONNode.read(String(decoding: text, as: UTF8.self), maximumDepth: 600) { canonical($0) }
    }

    /// - Parameter isOurs: Whether our own encoder writes the text.
    private func expectAgreement(_ value: some Encodable, isOurs: Bool = true) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        let theirs = Result { try canonical([UInt8](try encoder.encode(value))) }
        let ours = Result { try canonical(try JSONEncodingOptions().encode(value)) }
        switch (ours, theirs) {
        case (.success(let ours), .success(let theirs)): #expect(ours == theirs)
        case (.failure(let ours), .failure(let theirs)): #expect("\(ours)" == "\(theirs)")
        default: Issue.record("\(value): \(ours), but Foundation: \(theirs)")
        }
        #expect((JSONEncodingOptions().encodeAlone(value) != nil) == isOurs, "\(type(of: value))")
    }

    @Test("writes numbers of all types")
    func numbers() {
        let integers: [Int64] = [0, 1, -1, 9, 10, 99, -100, 1_234_567_890, .max, .min, .min + 1]
        expectAgreement(integers)
        expectAgreement(integers.map { Int32(truncatingIfNeeded: $0) })
        expectAgreement(integers.map { Int16(truncatingIfNeeded: $0) })
        expectAgreement(integers.map { Int8(truncatingIfNeeded: $0) })
        expectAgreement(integers.map { Int($0) })
        expectAgreement(integers.map { UInt64(truncatingIfNeeded: $0) })
        expectAgreement(integers.map { UInt32(truncatingIfNeeded: $0) })
        expectAgreement(integers.map { UInt16(truncatingIfNeeded: $0) })
        expectAgreement(integers.map { UInt8(truncatingIfNeeded: $0) })
        expectAgreement(integers.map { UInt(truncatingIfNeeded: $0) })
        let doubles: [Double] = [
            0, -0.0, 1, 1.5, 0.1, 1e15, 1e16, 1e17, 1e100, -1e-7, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .pi,
        ]
        expectAgreement(doubles)
        expectAgreement(doubles.filter { abs($0) < 1e30 }.map { Float($0) })
        expectAgreement([Decimal(string: "123456789012345678901234567890.5"), 0, -1.25, nil])
        for value in [Double.nan, .infinity, -.infinity] {
            expectAgreement(value, isOurs: false)
            expectAgreement(["a": [value]], isOurs: false)
            expectAgreement(Float(value), isOurs: false)
        }
        var generator = SystemRandomNumberGenerator()
        expectAgreement((0..<500).map { _ in Double(bitPattern: generator.next()) }.filter(\.isFinite))
    }

    @Test("writes strings with all characters")
    func strings() throws {
        expectAgreement((0..<0x300).compactMap { Unicode.Scalar($0).map { "a\($0)\u{301}é日😀/" } })
        expectAgreement(["", "\"", "\\", "\u{0}\n\r\t\u{8}\u{C}\u{1F}\u{7F}\u{2028}"])
        expectAgreement(String(repeating: "long \" text ", count: 1_000))
        expectAgreement(NSMutableString("bridged é") as String)
        #expect(try JSONEncodingOptions().text(of: ["a/b\u{1}"]) == #"["a/b\u0001"]"#)
    }

    @Test("writes the members in the order of the type, and leaves out nil")
    func order() throws {
        struct Order: Encodable {
            var zebra = 1
            var apple: String? = "x"
            var none: Int?
            var mango: [Double?] = [1.5, nil, 2]
            var bag = ["one": true]
        }
        #expect(
            try JSONEncodingOptions().text(of: Order())
                == #"{"zebra":1,"apple":"x","mango":[1.5,null,2],"bag":{"one":true}}"#
        )
        expectAgreement(Order())
    }

    @Test("writes values of the usual types")
    func usual() {
        enum Shade: String, Codable, CodingKeyRepresentable { case red, green }
        enum Figure: Encodable {
            case circle(radius: Double)
            case named(String, size: Int?)
            case empty
        }
        expectAgreement([Figure.circle(radius: 1.5), .named("x", size: nil), .empty])
        expectAgreement([Shade.red, .green])
        expectAgreement([Shade.red: 1])
        expectAgreement([1: "a", 2: "b"])
        expectAgreement([1.5: "a"])
        expectAgreement(["a": ["b": ["c": [1, 2, 3]]]])
        expectAgreement(Dictionary(uniqueKeysWithValues: (0..<300).map { ("key \($0)", $0) }))
        expectAgreement(Set([7]))
        expectAgreement(1..<5)
        expectAgreement(Optional<Int>.none)
        expectAgreement([[Int]]())
        expectAgreement([String: Int]())
        expectAgreement(true)
        expectAgreement("text")
        expectAgreement(UUID())
        expectAgreement(URL(string: "https://a.b/c?d=%20"))
        expectAgreement(Data("hello\u{0}".utf8))
        expectAgreement(Date(timeIntervalSinceReferenceDate: 1.25))
        expectAgreement([Date(timeIntervalSinceReferenceDate: -7)])
    }

    @Test("writes dates as the closure does, and has an error for a date without a text")
    func dates() throws {
        let options = JSONEncodingOptions { $0.timeIntervalSinceReferenceDate < 0 ? nil : "on \"time\"" }
        let later = Date(timeIntervalSinceReferenceDate: 1)
        #expect(try options.text(of: ["at": later]) == #"{"at":"on \"time\""}"#)
        #expect(try options.text(of: later) == #""on \"time\"""#)
        #expect {
            try options.text(of: ["at": Date(timeIntervalSinceReferenceDate: -1)])
        } throws: { error in
            guard case EncodingError.invalidValue(_, let context) = error else { return false }
            return context.codingPath.map(\.stringValue) == ["at"]
        }
    }

    @Test("uses the app's encoder")
    func passedEncoder() throws {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        struct Value: Encodable { var createdAt = 1 }
        #expect(try JSONEncodingOptions().text(of: Value(), with: encoder) == #"{"created_at":1}"#)
    }

    // MARK: Types that encode by hand

    private struct ByHand: Encodable {
        var encodeBody: (any Encoder) throws -> Void

        func encode(to encoder: any Encoder) throws { try encodeBody(encoder) }
    }

    private enum Key: String, CodingKey { case a, b, c, list }

    @Test("writes nested containers, one after the other")
    func nested() {
        let value = ByHand { encoder in
            var container = encoder.container(keyedBy: Key.self)
            var inner = container.nestedContainer(keyedBy: Key.self, forKey: .a)
            try inner.encode(1, forKey: .a)
            var list = inner.nestedUnkeyedContainer(forKey: .list)
            try list.encode("x")
            try list.encodeNil()
            var pair = list.nestedContainer(keyedBy: Key.self)
            try pair.encode(true, forKey: .b)
            var empty = list.nestedUnkeyedContainer()
            #expect(empty.count == 0)
            try empty.encode(2)
            #expect(empty.count == 1)
            #expect(list.count == 4)
            try container.encode(Float(2), forKey: .c)
            try container.encodeNil(forKey: .b)
        }
        expectAgreement(value)
        expectAgreement(["a": value])
    }

    @Test("agrees with Foundation about containers that are used in turns")
    func interleaved() {
        expectAgreement(
            ByHand { encoder in
                var container = encoder.container(keyedBy: Key.self)
                var one = container.nestedContainer(keyedBy: Key.self, forKey: .a)
                var two = container.nestedUnkeyedContainer(forKey: .b)
                try one.encode(1, forKey: .a)
                try two.encode(1)
                try one.encode(2, forKey: .b)
                try two.encode(2)
            },
            isOurs: false
        )
        expectAgreement(
            ByHand { encoder in
                var list = encoder.unkeyedContainer()
                var inner = list.nestedUnkeyedContainer()
                try list.encode(1)
                try inner.encode(2)
            },
            isOurs: false
        )
    }

    @Test("agrees with Foundation about the count of a container after its end")
    func countOfClosed() {
        expectAgreement(
            ByHand { encoder in
                var container = encoder.container(keyedBy: Key.self)
                var list = container.nestedUnkeyedContainer(forKey: .list)
                try list.encode(1)
                try container.encode("x", forKey: .a)
                try container.encode(list.count, forKey: .b)
            },
            isOurs: false
        )
    }

    @Test("agrees with Foundation about a container that is asked for twice")
    func twice() {
        expectAgreement(
            ByHand { encoder in
                var one = encoder.container(keyedBy: Key.self)
                try one.encode(1, forKey: .a)
                var two = encoder.container(keyedBy: Key.self)
                try two.encode([2], forKey: .b)
                try one.encode(3, forKey: .c)
            }
        )
    }

    @Test("agrees with Foundation about repeated keys", arguments: [1, 63, 64, 65, 200])
    func repeatedKeys(count: Int) {
        struct Name: CodingKey {
            var stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }
        for position in Set([0, count / 2, count - 1]) {
            expectAgreement(
                [
                    ByHand { encoder in
                        var container = encoder.container(keyedBy: Name.self)
                        for number in 0..<count { try container.encode(number, forKey: Name(stringValue: "\(number)")) }
                        try container.encode("again", forKey: Name(stringValue: "\(position)"))
                    }
                ],
                isOurs: false
            )
        }
    }

    @Test("agrees with Foundation about values that encode nothing")
    func nothing() {
        let nothing = ByHand { _ in }
        expectAgreement(nothing, isOurs: false)
        expectAgreement([nothing], isOurs: false)
        expectAgreement(["a": nothing], isOurs: false)
        expectAgreement(ByHand { _ = $0.container(keyedBy: Key.self) })
        expectAgreement(ByHand { _ = $0.unkeyedContainer() })
    }

    @Test("agrees with Foundation about encoders of super classes")
    func superEncoders() {
        class Base: Encodable { var a = 1 }
        final class Derived: Base {
            override func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Key.self)
                try container.encode("x", forKey: .b)
                try super.encode(to: container.superEncoder())
                try super.encode(to: container.superEncoder(forKey: .c))
                var list = container.nestedUnkeyedContainer(forKey: .list)
                try super.encode(to: list.superEncoder())
            }
        }
        final class Shared: Base {
            override func encode(to encoder: any Encoder) throws {
                try super.encode(to: encoder)
                var container = encoder.container(keyedBy: Key.self)
                try container.encode("x", forKey: .b)
            }
        }
        expectAgreement(Derived(), isOurs: false)
        expectAgreement([Shared(), Shared()])
    }

    @Test("has the coding path, and the app's errors")
    func paths() {
        struct Failure: Error {}
        expectAgreement(
            [
                "list": [
                    ByHand { encoder in
                        var container = encoder.singleValueContainer()
                        try container.encode(encoder.codingPath.map(\.stringValue).joined(separator: "."))
                    }
                ]
            ],
            isOurs: false
        )
        expectAgreement([ByHand { _ in throw Failure() }], isOurs: false)
        expectAgreement(
            ByHand { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try? container.encode(Double.nan, forKey: .a)
                try container.encode(1, forKey: .b)
            },
            isOurs: false
        )
    }

    @Test("agrees with Foundation about errors that the type ignores")
    func ignoredErrors() {
        struct Failure: Error {}
        let failing = ByHand { encoder in
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(1, forKey: .a)
            throw Failure()
        }
        expectAgreement(
            ByHand { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try? container.encode(failing, forKey: .a)
                try container.encode(1, forKey: .b)
            },
            isOurs: false
        )
    }

    @Test("writes deep values")
    func deep() {
        indirect enum Nest: Encodable {
            case leaf
            case more(Nest)

            func encode(to encoder: any Encoder) throws {
                var container = encoder.unkeyedContainer()
                if case .more(let nest) = self { try container.encode(nest) }
            }
        }
        expectAgreement((0..<500).reduce(Nest.leaf) { nest, _ in .more(nest) })
    }

    @Test("writes what the decoder reads", arguments: 0..<50)
    func roundTrip(seed: Int) throws {
        struct Item: Codable, Equatable {
            var id: Int
            var name: String?
            var price: Double
            var tags: [String]
            var at: Date
            var parts: [String: Item]
        }
        func item(_ number: Int, _ depth: Int) -> Item {
            Item(
                id: number &* 7_919,
                name: number % 3 == 0 ? nil : String(repeating: "é\"\\\n", count: number % 5),
                price: Double(number) / 7,
                tags: (0..<(number % 4)).map { "tag \($0)" },
                at: Date(timeIntervalSinceReferenceDate: Double(number)),
                parts: depth == 0 ? [:] : ["a": item(number + 1, depth - 1), "b": item(number + 2, depth - 1)]
            )
        }
        let value = item(seed, 3)
        let text = try JSONEncodingOptions().encode(value)
        #expect(try JSONDecodingOptions().decode(Item.self, from: text[...]) == value)
        expectAgreement(value)
    }
}
