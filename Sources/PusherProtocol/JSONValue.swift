package import RealtimeJSON

/// Any JSON value, for the few messages whose payload the client or the server reads. The client does not decode the
/// app's events to this type.
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object(WireTable<JSONValue>)

    /// The parser accepts fewer levels of nesting than this number. There is a limit, because the parser is recursive,
    /// and some threads have a small stack.
    package static let maximumDepth = 32

    /// Parses JSON text. Returns nil if the text is not JSON, or has ``maximumDepth`` or more levels of nesting.
    package init?(parsing text: String) {
        guard let value = Self.read(text, JSONValue.init) else { return nil }
        self = value
    }

    /// Reads JSON text without converting all of it, so that the app gets the text of a part as it was sent.
    ///
    /// - Parameter body: A closure that gets the value.
    /// - Returns: The closure's result; nil if the text is not JSON, has ``maximumDepth`` or more levels of nesting, or
    ///   if the closure throws an error.
    package static func read<Result>(_ text: String, _ body: (JSONNode) throws -> Result?) -> Result? {
        (try? JSONNode.read(text, maximumDepth: maximumDepth - 1, body)) ?? nil
    }

    /// Returns JSON text without surrounding white space; nil if the text is not JSON, or is nested too deeply.
    package static func checkedText(_ text: String) -> String? { read(text) { $0.text } }

    private struct NumberTooLarge: Error {}

    /// Converts a value. If a key appears twice, the last one counts, as in JavaScript.
    ///
    /// The initializer is recursive. The reader of the node limits the depth to less than ``maximumDepth``.
    ///
    /// - Throws: An error if a number is too large.
    package init(_ node: JSONNode) throws {
        switch node.kind {
        case .null: self = .null
        case .bool: self = .bool(node.bool == true)
        case .number: self = try Self.number(node.number ?? "")
        case .string: self = .string(node.string ?? "")
        case .array: self = .array(try node.elements.map(JSONValue.init))
        case .object: self = .object(WireTable(try node.members.map { ($0.name, try JSONValue($0.value)) }))
        }
    }

    private static func number(_ text: String) throws -> JSONValue {
        // A number like 120.0 is a whole number too. The check of the digits works for large numbers, unlike a
        // conversion to `Double`.
        let isPlain = !text.utf8.contains { $0 == UInt8(ascii: "e") || $0 == UInt8(ascii: "E") }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        if isPlain, parts.dropFirst().allSatisfy({ $0.utf8.allSatisfy { $0 == UInt8(ascii: "0") } }),
            let integer = Int(parts[0])
        {
            return .integer(integer)
        }
        guard let number = Double(text), number.isFinite else { throw NumberTooLarge() }
        guard !isPlain, let integer = Int(exactly: number), UInt64(integer.magnitude) <= 1 << 53 else {
            return .number(number)
        }
        return .integer(integer)
    }

    package subscript(key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members[key]
    }

    package var string: String? {
        guard case .string(let value) = self else { return nil }
        return value
    }

    package var array: [JSONValue]? {
        guard case .array(let value) = self else { return nil }
        return value
    }

    package var object: WireTable<JSONValue>? {
        guard case .object(let value) = self else { return nil }
        return value
    }

    /// A whole number, even if it was written as `120.0` or `1.2e2`; nil if the number does not fit into an `Int`.
    package var integer: Int? {
        switch self {
        case .integer(let value): value
        case .number(let value): Int(exactly: value)
        default: nil
        }
    }

    package var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }

    /// An identifier. Servers write ids as strings or as numbers (protocol clause 3).
    package var identifier: String? {
        switch self {
        case .string(let value): value
        case .integer(let value): String(value)
        case .number(let value): Int(exactly: value).map { String($0) } ?? String(value)
        default: nil
        }
    }
}

extension JSONNode {
    /// The same as ``JSONValue/identifier``.
    package var identifier: String? { (try? JSONValue(self))?.identifier }
}

extension JSONValue: Encodable {
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value.dictionary)
        }
    }
}

extension JSONValue {
    /// The value as compact JSON text with sorted object keys. A number that JSON cannot represent becomes `null`.
    package var jsonText: String {
        var writer = JSONWriter()
        writer.write(self)
        return writer.text
    }
}

extension JSONWriter {
    package mutating func write(_ value: JSONValue) {
        switch value {
        case .null: write(raw: "null")
        case .bool(let value): write(raw: value ? "true" : "false")
        case .integer(let value): write(raw: String(value))
        case .number(let value): write(raw: value.isFinite ? String(value) : "null")
        case .string(let value): write(string: value)
        case .array(let elements):
            writeList(elements, in: ("[", "]")) { writer, element in writer.write(element) }
        case .object(let members):
            writeList(members.sorted { $0.key < $1.key }, in: ("{", "}")) { writer, member in
                writer.write(string: member.key)
                writer.write(raw: ":")
                writer.write(member.value)
            }
        }
    }

    private mutating func writeList<Element>(
        _ elements: [Element],
        in brackets: (String, String),
        write: (inout JSONWriter, Element) -> Void
    ) {
        self.write(raw: brackets.0)
        for (index, element) in elements.enumerated() {
            if index > 0 { self.write(raw: ",") }
            write(&self, element)
        }
        self.write(raw: brackets.1)
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int) { self = .integer(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(nilLiteral: ()) { self = .null }
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(WireTable(elements))
    }
}
