import RealtimeJSON

/// The reason why a frame is not a message of the protocol.
package enum EnvelopeError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The frame is not JSON. The value is the offset of the first invalid byte.
    case malformed(offset: Int)
    /// The JSON is nested deeper than ``JSONNode/maximumDepth``.
    case tooDeep(offset: Int)
    /// The frame is too large for the decoder.
    case tooLarge
    /// The frame is JSON, but not an object.
    case notAnObject
    /// There is no `event` key, or its value is not a string.
    case noEvent

    package var description: String {
        switch self {
        case .malformed(let offset): "not valid JSON at byte \(offset)"
        case .tooDeep(let offset): "nested deeper than \(JSONNode.maximumDepth) levels at byte \(offset)"
        case .tooLarge: "too large"
        case .notAnObject: "not a JSON object"
        case .noEvent: "no string under \"event\""
        }
    }

    fileprivate init(_ error: any Error) {
        switch error {
        case let error as EnvelopeError: self = error
        case JSONSyntaxError.malformed(let offset): self = .malformed(offset: offset)
        case JSONSyntaxError.tooDeep(let offset): self = .tooDeep(offset: offset)
        default: self = .tooLarge
        }
    }
}

extension Envelope {
    /// Decodes a frame. The decoder reads only the values of the four known keys, and builds no tree.
    ///
    /// If a key appears twice, the last one counts. Bytes that are not UTF-8, and halves of surrogate pairs, become
    /// U+FFFD. So the client does not lose an event whose text was cut in the middle of a character.
    package init(decoding bytes: Span<UInt8>) throws(EnvelopeError) {
        do {
            self = try bytes.withUnsafeBytes { try JSONNode.read($0, Envelope.init) }
        } catch {
            throw EnvelopeError(error)
        }
    }

    /// Decodes text that is already a string.
    package init(decoding text: String) throws(EnvelopeError) {
        do {
            self = try JSONNode.read(text, Envelope.init)
        } catch {
            throw EnvelopeError(error)
        }
    }

    private init(_ message: JSONNode) throws(EnvelopeError) {
        guard message.kind == .object else { throw .notAnObject }
        var event: String?
        var channel: String?
        var data = Payload.none
        var userID: String?
        var hasUnknownKeys = false
        for (name, value) in message.members {
            switch name {
            case "event": event = value.string
            case "channel": channel = value.string
            case "user_id": userID = value.string ?? value.number
            case "data": data = Payload(value)
            default: hasUnknownKeys = true
            }
        }
        guard let event else { throw .noEvent }
        self.init(
            event: event,
            channel: channel,
            data: data,
            userID: userID,
            unknownKeysText: hasUnknownKeys ? message.text : nil
        )
    }
}

extension Envelope.Payload {
    fileprivate init(_ value: JSONNode) {
        if let string = value.string { self = .string(string) } else { self = value.isNull ? .none : .json(value.text) }
    }
}
