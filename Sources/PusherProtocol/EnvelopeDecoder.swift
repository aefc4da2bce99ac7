/// Why a frame is not a message of the protocol.
package enum EnvelopeError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Not JSON; the offset of the first byte that does not fit.
    case malformed(offset: Int)
    /// Nested deeper than ``JSONScanner/maximumDepth``.
    case tooDeep(offset: Int)
    /// JSON, but not an object.
    case notAnObject
    /// No `event` key, or its value is not a string.
    case noEvent

    package var description: String {
        switch self {
        case .malformed(let offset): "not valid JSON at byte \(offset)"
        case .tooDeep(let offset): "nested deeper than \(JSONScanner.maximumDepth) levels at byte \(offset)"
        case .notAnObject: "not a JSON object"
        case .noEvent: "has no string under \"event\""
        }
    }
}

extension Envelope {
    /// Decodes a frame in one pass over its bytes: only the four known keys become values, nothing becomes a tree.
    ///
    /// Where a key stands twice the last one counts. Bytes that are not UTF-8, and halves of surrogate pairs, become
    /// U+FFFD: an event is not lost because its text was cut in the middle of a character.
    package init(decoding bytes: Span<UInt8>) throws(EnvelopeError) {
        var scanner = JSONScanner()
        scanner.skipWhitespace(bytes)
        guard let first = scanner.peek(bytes) else { throw .malformed(offset: scanner.offset) }
        guard first == UInt8(ascii: "{") else {
            try scanner.skipValue(bytes)
            try scanner.expectEnd(bytes)
            throw .notAnObject
        }
        var event: String?
        var channel: String?
        var data = Payload.none
        var userID: String?
        var hasUnknownKeys = false

        var isFirst = true
        scanner.advance()
        while let key = try scanner.nextKey(bytes, isFirst: &isFirst) {
            switch Key(key, in: bytes) {
            case .event: event = try scanner.string(bytes)
            case .channel: channel = try scanner.string(bytes)
            case .userID: userID = try scanner.identifier(bytes)
            case .data: data = try scanner.payload(bytes)
            case nil:
                hasUnknownKeys = true
                try scanner.skipValue(bytes)
            }
        }
        try scanner.expectEnd(bytes)
        guard let event else { throw .noEvent }
        self.init(
            event: event,
            channel: channel,
            data: data,
            userID: userID,
            unknownKeysText: hasUnknownKeys ? String(copying: bytes, 0..<bytes.count) : nil
        )
    }

    /// Decodes text that is already a string.
    package init(decoding text: String) throws(EnvelopeError) {
        let bytes = ContiguousArray(text.utf8)
        try self.init(decoding: bytes.span)
    }

    private enum Key {
        case event, channel, data, userID

        /// Compares bytes; a key that is written with escapes is as good as unknown to every server, but is decoded.
        init?(_ key: JSONScanner.StringToken, in bytes: Span<UInt8>) {
            guard !key.hasEscapes else {
                switch String(unescaping: bytes, key) {
                case "event": self = .event
                case "channel": self = .channel
                case "data": self = .data
                case "user_id": self = .userID
                default: return nil
                }
                return
            }
            switch key.range.count {
            case 4 where bytes.matches("data", at: key.range.lowerBound): self = .data
            case 5 where bytes.matches("event", at: key.range.lowerBound): self = .event
            case 7 where bytes.matches("channel", at: key.range.lowerBound): self = .channel
            case 7 where bytes.matches("user_id", at: key.range.lowerBound): self = .userID
            default: return nil
            }
        }
    }
}

extension JSONScanner {
    /// The string that starts here; nil, having skipped it, where the value is something else.
    fileprivate mutating func string(_ bytes: Span<UInt8>) throws(EnvelopeError) -> String? {
        guard peek(bytes) == UInt8(ascii: "\"") else {
            try skipValue(bytes)
            return nil
        }
        return String(unescaping: bytes, try scanString(bytes))
    }

    fileprivate mutating func identifier(_ bytes: Span<UInt8>) throws(EnvelopeError) -> String? {
        guard let first = peek(bytes), first == UInt8(ascii: "-") || (0x30...0x39).contains(first) else {
            return try string(bytes)
        }
        let start = offset
        try skipValue(bytes)
        return String(copying: bytes, start..<offset)
    }

    fileprivate mutating func payload(_ bytes: Span<UInt8>) throws(EnvelopeError) -> Envelope.Payload {
        switch peek(bytes) {
        case UInt8(ascii: "\""):
            return .string(String(unescaping: bytes, try scanString(bytes)))
        case UInt8(ascii: "n"):
            try skipValue(bytes)
            return .none
        default:
            let start = offset
            try skipValue(bytes)
            return .json(String(copying: bytes, start..<offset))
        }
    }
}
