/// A header field of an HTTP request or response. Printing a field does not show its value, which may be secret.
public struct HTTPHeader: Hashable, Sendable {
    /// The field's name.
    public var name: String
    /// The field's value.
    public var value: String

    /// Creates a header field.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

extension HTTPHeader: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name without the value.
    public var description: String { name }
    /// The name without the value.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` does not show the value.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Header fields in order, written as a dictionary literal: `["Authorization": "Bearer \(token)"]`. Printing them shows only
/// their names.
///
/// A name may occur more than once. The fields are a collection of ``HTTPHeader``.
public struct HTTPHeaderFields: Hashable, Sendable {
    private var fields: [HTTPHeader] = []

    /// Creates an empty list.
    public init() {}

    /// The value of a field. Names are case-insensitive. Commas join the values of repeated fields. Setting a value
    /// replaces all fields with that name, and `nil` removes them.
    public subscript(name: String) -> String? {
        get {
            let values = fields.filter { Self.isSame($0.name, name) }.map(\.value)
            return values.isEmpty ? nil : values.joined(separator: ", ")
        }
        set {
            fields.removeAll { Self.isSame($0.name, name) }
            if let newValue { fields.append(HTTPHeader(name: name, value: newValue)) }
        }
    }

    private static func isSame(_ left: String, _ right: String) -> Bool { left.lowercased() == right.lowercased() }
}

extension HTTPHeaderFields: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral {
    /// Creates fields from names and values.
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { HTTPHeader(name: $0.0, value: $0.1) }
    }

    /// Creates fields from single fields.
    public init(arrayLiteral elements: HTTPHeader...) { fields = elements }
}

extension HTTPHeaderFields: RandomAccessCollection, MutableCollection, RangeReplaceableCollection {
    /// The index of the first field.
    public var startIndex: Int { fields.startIndex }
    /// The index after the last field.
    public var endIndex: Int { fields.endIndex }

    /// The field at an index.
    public subscript(index: Int) -> HTTPHeader {
        get { fields[index] }
        set { fields[index] = newValue }
    }

    /// Replaces fields.
    public mutating func replaceSubrange(_ range: Range<Int>, with newFields: some Collection<HTTPHeader>) {
        fields.replaceSubrange(range, with: newFields)
    }
}

extension HTTPHeaderFields: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The names without the values.
    public var description: String { "[\(fields.map(\.name).joined(separator: ", "))]" }
    /// The names without the values.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` does not show the values.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
