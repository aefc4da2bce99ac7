/// The reason why a frame is not a message of the protocol.
package enum EnvelopeError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The frame is not JSON. The value is the offset of the first invalid byte.
    case malformed(offset: Int)
    /// The JSON is nested deeper than ``JSONScanner/maximumDepth``.
    case tooDeep(offset: Int)
    /// The frame is JSON, but not an object.
    case notAnObject
    /// There is no `event` key, or its value is not a string.
    case noEvent

    package var description: String {
        switch self {
        case .malformed(let offset): "not valid JSON at byte \(offset)"
        case .tooDeep(let offset): "nested deeper than \(JSONScanner.maximumDepth) levels at byte \(offset)"
        case .notAnObject: "not a JSON object"
        case .noEvent: "no string under \"event\""
        }
    }
}

extension Envelope {
    /// Decodes a frame in one pass over its bytes. The decoder reads only the values of the four known keys, and builds
    /// no tree.
    ///
    /// If a key appears twice, the last one counts. Bytes that are not UTF-8, and halves of surrogate pairs, become
    /// U+FFFD. So the client does not lose an event whose text was cut in the middle of a character.
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
            case .event: event = try scanner.readStringValue(bytes)
            case .channel: channel = try scanner.readStringValue(bytes)
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

        init?(_ key: JSONScanner.StringToken, in bytes: Span<UInt8>) {
            if key.stands(for: "data", in: bytes) {
                self = .data
            } else if key.stands(for: "event", in: bytes) {
                self = .event
            } else if key.stands(for: "channel", in: bytes) {
                self = .channel
            } else if key.stands(for: "user_id", in: bytes) {
                self = .userID
            } else {
                return nil
            }
        }
    }
}

extension JSONScanner.StringToken {
    /// Returns whether the key equals the name, even if the key contains escapes.
    @inline(__always)
    package func stands(for text: StaticString, in bytes: Span<UInt8>) -> Bool {
        guard !hasEscapes else { return String(unescaping: bytes, self) == text.description }
        return range.count == text.utf8CodeUnitCount && bytes.matches(text, at: range.lowerBound)
    }
}

extension JSONScanner {
    /// Reads the string at the current offset. If the value is not a string, the method skips the value, and returns
    /// nil.
    package mutating func readStringValue(_ bytes: Span<UInt8>) throws(EnvelopeError) -> String? {
        guard peek(bytes) == UInt8(ascii: "\"") else {
            try skipValue(bytes)
            return nil
        }
        return try readString(bytes)
    }

    fileprivate mutating func identifier(_ bytes: Span<UInt8>) throws(EnvelopeError) -> String? {
        guard let first = peek(bytes), first == UInt8(ascii: "-") || (0x30...0x39).contains(first) else {
            return try readStringValue(bytes)
        }
        let start = offset
        try skipValue(bytes)
        return String(copying: bytes, start..<offset)
    }

    fileprivate mutating func payload(_ bytes: Span<UInt8>) throws(EnvelopeError) -> Envelope.Payload {
        switch peek(bytes) {
        case UInt8(ascii: "\""):
            return .string(try readString(bytes))
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
