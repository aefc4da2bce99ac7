/// The start of a value. For `nil`, a boolean or a number, the start is the whole value. Otherwise, it is the type and
/// the length.
package enum MessagePackHeader: Hashable, Sendable {
    case `nil`
    case bool(Bool)
    /// An integer that is not negative, of any width.
    case unsigned(UInt64)
    /// A negative integer.
    case negative(Int64)
    case float(Float)
    case double(Double)
    /// A string, with its number of bytes.
    case string(Int)
    case binary(Int)
    /// An array, with the number of values that follow.
    case array(Int)
    /// A map, with the number of pairs that follow.
    case map(Int)
    case ext(type: Int8, count: Int)

    /// The number of values that belong to the container.
    var valueCount: Int {
        switch self {
        case .array(let count): count
        case .map(let count): 2 * count
        default: 0
        }
    }

    /// The number of bytes that belong to the value.
    var byteCount: Int {
        switch self {
        case .string(let count), .binary(let count), .ext(_, let count): count
        default: 0
        }
    }
}

extension MessagePackHeader: CustomStringConvertible {
    package var description: String {
        switch self {
        case .nil: "nil"
        case .bool(let value): "\(value)"
        case .unsigned(let value): "\(value)"
        case .negative(let value): "\(value)"
        case .float(let value): "\(value)"
        case .double(let value): "\(value)"
        case .string(let count): "a string of \(count) bytes"
        case .binary(let count): "binary data of \(count) bytes"
        case .array(let count): "an array of \(count) values"
        case .map(let count): "a map of \(count) pairs"
        case .ext(let type, let count): "an extension of type \(type) with \(count) bytes"
        }
    }
}
