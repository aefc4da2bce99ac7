/// The reason why bytes are not the expected MessagePack.
package enum MessagePackError: Error, Hashable, Sendable {
    /// The bytes end within a value.
    case truncated
    /// No value starts with this byte.
    case invalidByte(UInt8)
    /// The value does not have the expected type.
    case unexpected(MessagePackHeader, expected: String)
    /// An integer does not fit into the requested type.
    case outOfRange
    /// A string is not UTF-8.
    case invalidText
    /// Bytes follow the value.
    case trailingBytes
    /// Values are nested deeper than ``MessagePackReader/maximumDepth``.
    case tooDeep
}

extension MessagePackError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .truncated: "the bytes end within a value"
        case .invalidByte(let byte): "no value starts with the byte \(byte)"
        case .unexpected(let header, let expected): "expected \(expected), found \(header)"
        case .outOfRange: "the number does not fit into the type"
        case .invalidText: "the text is not UTF-8"
        case .trailingBytes: "bytes follow the value"
        case .tooDeep: "the values are nested deeper than \(MessagePackReader.maximumDepth)"
        }
    }
}
