import Foundation
import TestTraits
import Testing

@testable import RealtimeJSON

@Suite("JSON decoder", .limited)
struct DecodingTests {
    private struct Order: Decodable, Equatable {
        var orderId: Int
        var createdAt: Date?
        var lines: [Line]?

        struct Line: Decodable, Equatable { var itemName: String }
    }

    /// A number for which Foundation's decoder ends the process on Linux, if an integer is expected.
    static let trap = "0." + String(repeating: "0", count: 128) + "1e145"

    private func error(_ body: () throws -> some Any) -> DecodingError.Context? {
        do {
            _ = try body()
        } catch DecodingError.dataCorrupted(let context) {
            return context
        } catch {}
        return nil
    }

    // MARK: Numbers that trap

    @Test("rejects a number for which Foundation's decoder traps, with its path")
    func trappingNumber() {
        let context = error {
            try JSONDecodingOptions().decode([String: [Int]].self, from: #"{"id":[1,\#(Self.trap)]}"#)
        }
        #expect(context?.codingPath.map(\.stringValue) == ["id", "Index 1"])
    }

    @Test(
        "does not pass a number that traps to the app's decoder",
        arguments: [
            trap, "-" + trap, "[\(trap)]", #"{"a":\#(trap)}"#, #"{"a":\#(trap),}x"#, "{a:+\(trap)}", "\u{FEFF}\(trap)",
        ]
    )
    func appsDecoder(text: String) {
        let decoder = JSONDecoder()
        #if !os(Linux)
            decoder.allowsJSON5 = true
        #endif
        let context = error { try JSONDecodingOptions().decode(Int.self, from: text, with: decoder) }
        #expect(context?.debugDescription.contains("has more than 64 characters") == true)
    }

    @Test("does not pass a number that traps to the app's decoder in UTF-16")
    func utf16() throws {
        let text = Array(try #require(Self.trap.data(using: .utf16LittleEndian)))
        let context = error { try JSONDecodingOptions().decode(Int.self, from: text[...], with: JSONDecoder()) }
        #expect(context?.debugDescription.contains("has more than 64 characters") == true)
    }

    @Test("passes long numbers that are harmless to the app's decoder, and long numbers in strings")
    func harmless() throws {
        let options = JSONDecodingOptions()
        let precise = "0.1000000000000000055511151231257827021181583404541015625000000000000000"
        #expect(try options.decode(Double.self, from: precise, with: JSONDecoder()) == 0.1)
        #expect(try options.decode(String.self, from: "\"\(Self.trap)\"", with: JSONDecoder()) == Self.trap)
        #expect(
            try options.decode([Double].self, from: "[1e300,123456789012345678901.5]", with: JSONDecoder()).count == 2
        )
    }

    // MARK: Options

    @Test("finds names in snake case in any order, and does not change a dictionary's keys")
    func snakeCase() throws {
        let options = JSONDecodingOptions(keys: .convertFromSnakeCase, dates: .iso8601)
        let text = #"{"lines":[{"item_name":"a"}],"created_at":"2001-01-01T00:00:00Z","order_id":5}"#
        let expected = Order(
            orderId: 5,
            createdAt: Date(timeIntervalSinceReferenceDate: 0),
            lines: [.init(itemName: "a")]
        )
        #expect(try options.decode(Order.self, from: text) == expected)
        #expect(try options.decode(Order.self, from: #"{"ORDER_ID":6}"#) == Order(orderId: 6))
        #expect(try options.decode([String: Int].self, from: #"{"a_b":1}"#) == ["a_b": 1])
        // The thread's document forgets the names of the previous options.
        #expect(throws: DecodingError.self) { try JSONDecodingOptions().decode(Order.self, from: text) }
        #expect(try JSONDecodingOptions().decode(Order.self, from: #"{"orderId":7}"#) == Order(orderId: 7))
    }

    @Test(
        "reads dates in each form",
        arguments: [
            (JSONDecodingOptions.DateStrategy.deferredToDate, "1.5", 1.5),
            (.secondsSince1970, "978307201", 1), (.millisecondsSince1970, "978307200250", 0.25),
            (.iso8601, #""2001-01-01T01:00:00+01:00""#, 0),
            (.iso8601WithFractions, #""2001-01-01T00:00:00.1234567Z""#, 0.1234567),
            (.iso8601WithFractions, #""2000-12-31T23:59:59""#, -1), (.iso8601, #""2004-02-29T00:00:00Z""#, 99_705_600),
        ]
    )
    func dates(strategy: JSONDecodingOptions.DateStrategy, text: String, seconds: Double) throws {
        let date = try JSONDecodingOptions(dates: strategy).decode(Date.self, from: text)
        #expect(date.timeIntervalSinceReferenceDate == seconds)
    }

    // MARK: Errors

    @Test("names the path of a value that does not fit, with the names of the app's keys")
    func path() {
        let options = JSONDecodingOptions(keys: .convertFromSnakeCase)
        do {
            _ = try options.decode(Order.self, from: #"{"order_id":1,"lines":[{"item_name":"a"},{"item_name":2}]}"#)
            Issue.record("The text fits.")
        } catch DecodingError.typeMismatch(_, let context) {
            #expect(context.codingPath.map(\.stringValue) == ["lines", "Index 1", "itemName"])
        } catch {
            Issue.record("\(error)")
        }
    }

    @Test("names the place of malformed JSON", arguments: [("{\"a\":1", 6), ("[1,]x", 4), ("", 0), ("[tru]", 1)])
    func malformed(text: String, offset: Int) {
        let context = error { try JSONDecodingOptions().decode([Int].self, from: text) }
        #expect(context?.debugDescription == "The text is not valid JSON at byte \(offset).")
    }

    @Test("errors contain no data of the text")
    func noData() {
        let secret = "s3cret"
        for text in [#"{"orderId":"\#(secret)"}"#, #"{"orderId":1,"lines":"\#(secret)"}"#, "[\"\(secret)"] {
            do {
                _ = try JSONDecodingOptions().decode(Order.self, from: text)
            } catch {
                #expect(!"\(error)".contains(secret))
            }
        }
    }

    @Test("limits the depth of arrays and objects", arguments: [(512, true), (513, false)])
    func depth(depth: Int, isAccepted: Bool) {
        let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        struct Nothing: Decodable { init(from decoder: any Decoder) {} }
        #expect(((try? JSONDecodingOptions().decode(Nothing.self, from: text)) != nil) == isAccepted)
    }

    // MARK: Memory

    @Test("several threads decode at once, also inside of a decoder")
    func threads() async throws {
        struct Nested: Decodable {
            let order: Order
            init(from decoder: any Decoder) throws {
                _ = try JSONDecodingOptions().decode(Order.Line.self, from: #"{"itemName":"inner"}"#)
                order = try Order(from: decoder)
            }
        }
        let text = #"{"orderId":5,"lines":[{"itemName":"a"},{"itemName":"b"}]}"#
        let expected = Order(orderId: 5, lines: [.init(itemName: "a"), .init(itemName: "b")])
        await withTaskGroup(of: Bool.self) { group in
            for index in 0..<8 {
                group.addTask {
                    (0..<500).allSatisfy { _ in
                        let options = JSONDecodingOptions()
                        return index % 2 == 0
                            ? (try? options.decode(Order.self, from: text)) == expected
                            : (try? options.decode(Nested.self, from: text))?.order == expected
                    }
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }

    @Test("containers and decoders work after the call, as long as the app keeps them")
    func keptContainers() throws {
        struct Key: CodingKey {
            var stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }
        struct Kept: Decodable {
            let container: KeyedDecodingContainer<Key>
            init(from decoder: any Decoder) throws { container = try decoder.container(keyedBy: Key.self) }
        }
        struct KeptDecoder: Decodable {
            let decoder: any Decoder
            init(from decoder: any Decoder) { self.decoder = decoder }
        }
        let options = JSONDecodingOptions()
        var kept: [(Int, Kept)] = []
        for number in 0..<2000 {
            kept.append((number, try options.decode(Kept.self, from: #"{"a":"\#(number)","b":[\#(number)]}"#)))
            if kept.count > 50 { kept.removeFirst(40) }
            let (expected, value) = kept[number % kept.count]
            #expect(try value.container.decode([Int].self, forKey: Key(stringValue: "b")) == [expected])
        }
        // A container that a kept decoder makes outlives the decoder.
        var decoder: KeptDecoder? = try options.decode(KeptDecoder.self, from: #"{"a":1}"#)
        let container = try #require(try decoder?.decoder.container(keyedBy: Key.self))
        decoder = nil
        #expect(try options.decode([Int].self, from: "[1,2]") == [1, 2])
        #expect(try container.decode(Int.self, forKey: Key(stringValue: "a")) == 1)
    }

    @Test("a large text does not stay in memory, and the next one is decoded")
    func largeText() throws {
        let list = "[" + String(repeating: "1,", count: 400_000) + "1]"
        #expect(try JSONDecodingOptions().decode([Int].self, from: list).count == 400_001)
        #expect(try JSONDecodingOptions().decode([Int].self, from: "[5]") == [5])
    }

    @Test("an array and a dictionary that are larger than what is reserved for them have all elements")
    func largerThanReserved() throws {
        struct Wide: Decodable, Equatable {
            var id: Int
            var rest = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
            enum CodingKeys: CodingKey { case id }
            static func == (left: Wide, right: Wide) -> Bool { left.id == right.id }
        }
        let elements = (0..<50_000).map { #"{"id":\#($0)}"# }
        let list = try JSONDecodingOptions().decode([Wide].self, from: "[\(elements.joined(separator: ","))]")
        #expect(list == (0..<50_000).map { Wide(id: $0) })
        let members = elements.enumerated().map { #""\#($0)":\#($1)"# }
        let table = try JSONDecodingOptions().decode([String: Wide].self, from: "{\(members.joined(separator: ","))}")
        #expect(table == Dictionary(uniqueKeysWithValues: (0..<50_000).map { ("\($0)", Wide(id: $0)) }))
        #expect(throws: DecodingError.self) {
            try JSONDecodingOptions().decode([Wide].self, from: "[\(elements.joined(separator: ",")),{}]")
        }
    }

    @Test("the members of a large object can be read in any order, and the first of equal names counts")
    func otherOrder() throws {
        struct Key: CodingKey {
            var stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }
        struct Backwards: Decodable {
            var values: [Int?] = []
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Key.self)
                for key in container.allKeys.reversed() {
                    values.append(try container.decode(Int.self, forKey: key))
                    let absent = Key(stringValue: "\(key.stringValue)?")
                    values.append(try container.decodeIfPresent(Int.self, forKey: absent))
                }
            }
        }
        let members = (0..<500).map { #""k\#($0)":\#($0)"# }
        let expected = (0..<500).reversed().flatMap { [$0, nil] }
        for rest in ["", #","k499":-1,"k0":-2"#] {
            let text = "{\(members.joined(separator: ","))\(rest)}"
            #expect(try JSONDecodingOptions().decode(Backwards.self, from: text).values == expected)
        }
    }

    @Test("keys that are similar numbers are different keys", arguments: [2, 16, 17, 100])
    func uniqueKeys(count: Int) throws {
        let document = JSONDocument()
        let keys = (0..<count).map { "\"\($0 * 10)\":0" }
        func isUnique(_ keys: [String]) throws -> Bool {
            let text = Array("{\(keys.joined(separator: ","))}".utf8)
            try text.withUnsafeBytes { try document.tape.load($0) }
            return document.tape.hasUniqueKeys(0)
        }
        #expect(try isUnique(keys))
        #expect(try !isUnique(keys + [keys[count / 2]]))
    }
}
