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
        guard let value = JSONValueParser.parse(text) else { return nil }
        self = value
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
