import Foundation

/// Any JSON value: for the few messages whose payload the client or the server itself has to understand.
/// Events on their way to a user never become one.
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// The deepest nesting that is decoded. The decoder calls itself for each level, and some threads have a small
    /// stack.
    package static let maximumDepth = 32

    /// Nil where the text is not JSON, or nested deeper than ``maximumDepth``.
    package init?(parsing text: String) {
        guard Self.isShallowJSON(text) else { return nil }
        guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) else { return nil }
        self = value
    }

    /// The decoder is asked about nothing else: it takes more than JSON in UTF-8, such as a comma before a bracket, or
    /// UTF-16, and nobody knows how deep it would go behind that.
    private static func isShallowJSON(_ text: String) -> Bool {
        let bytes = ContiguousArray(text.utf8)
        var scanner = JSONScanner(maximumDepth: maximumDepth)
        do {
            try scanner.skipValue(bytes.span)
            try scanner.expectEnd(bytes.span)
        } catch {
            return false
        }
        return true
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

    package var object: [String: JSONValue]? {
        guard case .object(let value) = self else { return nil }
        return value
    }

    /// A whole number, also where it was written as `120.0` or `1.2e2`; nil where an `Int` cannot hold it.
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

    /// An identifier: servers write ids as strings or as numbers (protocol clause 3).
    package var identifier: String? {
        switch self {
        case .string(let value): value
        case .integer(let value): String(value)
        case .number(let value): Int(exactly: value).map { String($0) } ?? String(value)
        default: nil
        }
    }
}

extension JSONValue: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = try Self.isExact(value, in: container) ? .integer(value) : .number(container.decode(Double.self))
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    /// Whether nothing was lost: the decoder cuts the fraction off a number that is too large for a `Double` to hold it,
    /// where an `Int` is asked for.
    private static func isExact(_ value: Int, in container: any SingleValueDecodingContainer) throws -> Bool {
        if value.magnitude <= 1 << 53 { return true }
        return try Double(value) == container.decode(Double.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

extension JSONValue {
    /// The value as compact JSON text, object keys sorted. A number that JSON cannot write becomes `null`.
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
        self = .object(Dictionary(elements) { _, last in last })
    }
}
