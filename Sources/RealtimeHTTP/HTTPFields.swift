import RealtimePrimitives

/// Header fields in order. Names are case-insensitive.
package struct HTTPFields: Hashable, Sendable {
    package struct Field: Hashable, Sendable {
        package var name: String
        package var value: String
    }

    package private(set) var fields: [Field] = []

    package init() {}

    /// Creates fields, sorted by name. Equal dictionaries therefore lead to equal requests.
    package init(_ values: [String: String]) {
        for (name, value) in values.sorted(by: { $0.key < $1.key }) { set(name, value) }
    }

    package subscript(name: String) -> String? {
        let values = fields.filter { Self.isSame($0.name, name) }.map(\.value)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    package mutating func append(_ name: String, _ value: String) { fields.append(Field(name: name, value: value)) }

    /// Replaces all fields with that name.
    package mutating func set(_ name: String, _ value: String) {
        remove(name)
        append(name, value)
    }

    package mutating func setIfMissing(_ name: String, _ value: String) {
        if self[name] == nil { append(name, value) }
    }

    package mutating func remove(_ name: String) { fields.removeAll { Self.isSame($0.name, name) } }

    /// The fields as a dictionary, which joins the values of repeated fields.
    package var dictionary: [String: String] {
        var names: [String: String] = [:]
        var values: [String: [String]] = [:]
        for field in fields {
            let key = field.name.lowercased()
            if names[key] == nil { names[key] = field.name }
            values[key, default: []].append(field.value)
        }
        return Dictionary(names.map { ($1, values[$0]?.joined(separator: ", ") ?? "") }) { first, _ in first }
    }

    /// Returns a copy with a limited number of fields. The copy omits fields with long names, and truncates long
    /// values. Sizes are in bytes.
    package func cut(count: Int, nameSize: Int, valueSize: Int) -> HTTPFields {
        var cut = HTTPFields()
        for field in fields.prefix(count) where field.name.utf8.count <= nameSize {
            cut.append(field.name, field.value.prefix(fittingUTF8Bytes: valueSize))
        }
        return cut
    }

    private static func isSame(_ left: String, _ right: String) -> Bool { left.lowercased() == right.lowercased() }
}

extension HTTPFields: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { append(name, value) }
    }
}

extension HTTPFields {
    /// The reason why a field is invalid; nil if all fields are valid. The text names the field, but does not contain
    /// the field's value.
    package var problem: String? {
        for field in fields {
            guard HTTPToken.isValid(field.name) else {
                return "'\(field.name)' is not a valid header name; use letters, digits and hyphens only"
            }
            guard field.value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
                return "the value of the header field '\(field.name)' has a line break or another control character"
            }
        }
        return nil
    }
}

/// A token of HTTP, such as a method or a header name.
package enum HTTPToken {
    package static func isValid(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }
}
