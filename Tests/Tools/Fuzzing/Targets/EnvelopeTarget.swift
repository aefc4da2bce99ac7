import PusherProtocol
import RealtimePrimitives

/// Checks that the decoder of messages agrees with a plain decoder that builds a tree. An encoded result decodes to the
/// same message. For a plain message, the scan gives the same values, with and without vector instructions.
///
/// Input: the frame.
enum EnvelopeTarget {
    static func run(_ input: [UInt8]) {
        checkScan(input)
        let ours: Envelope?
        var error: EnvelopeError?
        do {
            ours = try input.withExactMemory(decode)
        } catch let failure as EnvelopeError {
            ours = nil
            error = failure
        } catch {
            return require(false, "the decoder throws \(error)")
        }
        let plain = PlainJSON.parse(input)
        guard let ours else {
            switch error {
            case .malformed(let offset):
                require((0...input.count).contains(offset), "the offset \(offset) is not in the input")
            case .tooDeep(let offset):
                require(
                    (512...input.count).contains(offset),
                    "the input cannot exceed the depth limit at offset \(offset)"
                )
            case .tooLarge: require(false, "the input is not too large")
            case .notAnObject, .noEvent, nil: break
            }
            return require(error == reason(plain), "the decoder throws \(String(describing: error)) for \(input.text)")
        }
        require(reason(plain) == nil, "only our decoder accepts \(input.text)")
        check(ours, plain, input)
        checkEncoding(ours)
    }

    /// Checks the scan of plain messages. The client scans a frame only if the frame is valid UTF-8.
    private static func checkScan(_ input: [UInt8]) {
        guard input.withUnsafeBytes(\.isUTF8) else { return }
        let expected = try? input.withExactMemory(decode)
        for isAccelerated in [true, false] {
            let scanned = input.withExactMemory { Envelope(scanning: $0, isAccelerated: isAccelerated) }
            guard let scanned else {
                require(expected.map { !$0.isPlain(in: input) } != false, "the scan rejects \(input.text)")
                continue
            }
            require(scanned == expected, "the scan (accelerated: \(isAccelerated)) reads \(scanned) from \(input.text)")
        }
    }

    private static func decode(_ bytes: UnsafeRawBufferPointer) throws -> Envelope {
        try Envelope(decoding: bytes.bindMemory(to: UInt8.self).span)
    }

    /// Returns the reason why a value is not a message.
    private static func reason(_ plain: PlainJSON.Outcome) -> EnvelopeError? {
        switch plain {
        case .value(.object(let members)):
            if case .string = members.last(where: { $0.key == "event" })?.value { nil } else { .noEvent }
        case .value: .notAnObject
        case .malformed(let offset): .malformed(offset: offset)
        case .tooDeep(let offset): .tooDeep(offset: offset)
        }
    }

    private static func check(_ ours: Envelope, _ plain: PlainJSON.Outcome, _ input: [UInt8]) {
        guard case .value(.object(let members)) = plain else { return }
        func last(_ key: String) -> PlainJSON? { members.last { $0.key == key }?.value }
        require(ours.event == last("event")?.string, "the event names differ for \(input.text)")
        require(ours.channel == last("channel")?.string, "the channels differ for \(input.text)")
        let user = last("user_id")
        if case .number(let text) = user {
            require(ours.userID == text, "the user ids differ for \(input.text)")
        } else {
            require(ours.userID == user?.string, "the user ids differ for \(input.text)")
        }
        switch (ours.data, last("data")) {
        case (.none, nil), (.none, .null): break
        case (.string(let text), .string(let other)): require(text == other, "the data differ for \(input.text)")
        case (.json(let text), let other?):
            require(PlainJSON.parse(Array(text.utf8)) == .value(other), "the data differ for \(input.text)")
        default: require(false, "the kinds of data differ for \(input.text)")
        }
        let known = ["event", "channel", "data", "user_id"]
        let hasOthers = members.contains { !known.contains($0.key) }
        require((ours.unknownKeysText != nil) == hasOthers, "the decoders differ about unknown keys in \(input.text)")
    }

    private static func checkEncoding(_ envelope: Envelope) {
        var expected = envelope
        expected.unknownKeysText = nil
        let text = envelope.jsonText
        require(
            (try? Envelope(decoding: text)) == expected,
            "\(envelope) is written as \(text), which has another meaning"
        )
    }
}

extension Envelope {
    fileprivate init?(scanning bytes: UnsafeRawBufferPointer, isAccelerated: Bool) {
        var text = UnescapedText(isAccelerated: isAccelerated)
        let bytes = bytes.bindMemory(to: UInt8.self).span
        guard let message = PlainMessage(scanning: bytes, unescapingInto: &text) else { return nil }
        self = message.envelope(of: bytes, text)
    }

    /// Whether the client would write the same bytes for the message, the data is a string or missing, and the names
    /// are not empty and need no escapes. In this case, the scan must accept the message.
    fileprivate func isPlain(in input: [UInt8]) -> Bool {
        if case .json = data { return false }
        return !event.isEmpty && channel?.isEmpty != true && userID?.isEmpty != true && Array(jsonText.utf8) == input
            && ![event, channel, userID].contains {
                $0?.utf8.contains { $0 < 0x20 || $0 == 0x22 || $0 == 0x5C } == true
            }
    }
}
