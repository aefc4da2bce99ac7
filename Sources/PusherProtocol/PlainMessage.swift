import CPusherProtocol

/// A message of the shape that servers give to nearly all events: an object with no keys but `event`, `channel`, `data`
/// and `user_id`, each at most once, names without escapes, and a string or nothing for `data`.
///
/// It says where the parts stand, and makes nothing of them. ``Envelope/init(decoding:)`` accepts every such message, and
/// gives equal values.
package struct PlainMessage {
    package private(set) var event = 0..<0
    /// Empty if there is none: a message with an empty name is not plain.
    package private(set) var channel = 0..<0
    /// Empty if there is none.
    package private(set) var userID = 0..<0
    /// What the escapes of the data stand for is in the ``UnescapedText``. Nil if there is no data.
    package private(set) var data: Data?

    package struct Data {
        /// How many bytes it has.
        package var count: Int
        package var isASCII: Bool
    }

    /// Finds the parts; nil if the message is not plain.
    ///
    /// - Parameters:
    ///   - bytes: Valid UTF-8.
    ///   - text: Gets the data.
    package init?(scanning bytes: Span<UInt8>, unescapingInto text: inout UnescapedText) {
        var index = bytes.skippingWhitespace(from: 0)
        guard index < bytes.count, bytes[index] == UInt8(ascii: "{") else { return nil }
        repeat {
            // Behind the brace, or a comma.
            index = bytes.skippingWhitespace(from: index &+ 1)
            guard let key = Key(bytes, at: index) else { return nil }
            index = bytes.skippingWhitespace(from: index &+ key.size)
            guard index < bytes.count, bytes[index] == UInt8(ascii: ":") else { return nil }
            index = bytes.skippingWhitespace(from: index &+ 1)
            guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else { return nil }
            let start = index &+ 1
            let end: Int
            switch key {
            case .data:
                guard data == nil, let (unescaped, closing) = text.unescape(bytes, from: start) else { return nil }
                data = unescaped
                end = closing
            case .event:
                end = bytes.endOfRun(from: start)
                guard event.isEmpty else { return nil }
                event = start..<end
            case .channel:
                end = bytes.endOfRun(from: start)
                guard channel.isEmpty else { return nil }
                channel = start..<end
            case .userID:
                end = bytes.endOfRun(from: start)
                guard userID.isEmpty else { return nil }
                userID = start..<end
            }
            guard end < bytes.count, bytes[end] == UInt8(ascii: "\""), end > start || key == .data else { return nil }
            index = bytes.skippingWhitespace(from: end &+ 1)
        } while index < bytes.count && bytes[index] == UInt8(ascii: ",")
        guard index < bytes.count, bytes[index] == UInt8(ascii: "}"), !event.isEmpty else { return nil }
        guard bytes.skippingWhitespace(from: index &+ 1) == bytes.count else { return nil }
    }

    /// The message's values, as ``Envelope/init(decoding:)`` gives them.
    package func envelope(of bytes: Span<UInt8>, _ text: borrowing UnescapedText) -> Envelope {
        Envelope(
            event: String(validUTF8: bytes, event),
            channel: channel.isEmpty ? nil : String(validUTF8: bytes, channel),
            data: data.map { .string(text.string($0)) } ?? .none,
            userID: userID.isEmpty ? nil : String(validUTF8: bytes, userID)
        )
    }

    private enum Key {
        case event, channel, data, userID

        /// With both quotation marks.
        @inline(__always)
        var size: Int {
            switch self {
            case .event: 7
            case .channel, .userID: 9
            case .data: 6
            }
        }

        /// Nothing that follows a key is shorter than four bytes: `:""}`.
        @inline(__always)
        init?(_ bytes: Span<UInt8>, at index: Int) {
            guard index &+ 9 < bytes.count, bytes[index] == UInt8(ascii: "\"") else { return nil }
            let word = UInt64(
                littleEndian: bytes.bytes.unsafeLoadUnaligned(fromByteOffset: index &+ 1, as: UInt64.self)
            )
            switch word {
            case 0x226C_656E_6E61_6863: self = .channel
            case 0x2264_695F_7265_7375: self = .userID
            case _ where word & 0xFFFF_FFFF_FFFF == 0x2274_6E65_7665: self = .event
            case _ where word & 0xFF_FFFF_FFFF == 0x22_6174_6164: self = .data
            default: return nil
            }
        }
    }
}

extension Span<UInt8> {
    @inline(__always)
    fileprivate func skippingWhitespace(from start: Int) -> Int {
        var index = start
        while index < count {
            switch self[index] {
            case 0x20, 0x09, 0x0A, 0x0D: index &+= 1
            default: return index
            }
        }
        return index
    }
}

/// The data of one message after another, without its escapes. It keeps its memory until ``removeAll()``.
package struct UnescapedText: ~Copyable {
    private var memory = UnsafeMutableBufferPointer<UInt8>(start: nil, count: 0)
    /// Whether the processor has the instructions that the fast way needs. A test can do without them.
    private let isAccelerated: Bool

    package init(isAccelerated: Bool = pusher_can_unescape()) { self.isAccelerated = isAccelerated }

    deinit { memory.deallocate() }

    /// Gives the memory back.
    package mutating func removeAll() {
        memory.deallocate()
        memory = UnsafeMutableBufferPointer(start: nil, count: 0)
    }

    /// Replaces what is there by what the string stands for that begins at the offset, behind its quotation mark, and
    /// gives the offset of its closing quotation mark; nil if the string is malformed, or does not end.
    @inline(__always)
    fileprivate mutating func unescape(_ bytes: Span<UInt8>, from start: Int) -> (PlainMessage.Data, end: Int)? {
        let count = bytes.count &- start
        if memory.count < count &+ Self.slack { grow(to: count &+ Self.slack) }
        guard isAccelerated else { return unescapePortably(bytes, from: start) }
        return bytes.withUnsafeBufferPointer { source -> (PlainMessage.Data, end: Int)? in
            guard let from = source.baseAddress, let to = memory.baseAddress else { return nil }
            let unescaped = pusher_unescape(from + start, count, to)
            guard unescaped.written >= 0 else { return nil }
            let data = PlainMessage.Data(count: unescaped.written, isASCII: unescaped.is_ascii)
            return (data, start &+ unescaped.end)
        }
    }

    private static let slack = max(Int(PUSHER_UNESCAPE_SLACK), JSONStringUnescaping.slack)

    @inline(never)
    private mutating func grow(to size: Int) {
        memory.deallocate()
        memory = .allocate(capacity: max(size, 4096))
    }

    private func unescapePortably(_ bytes: Span<UInt8>, from start: Int) -> (PlainMessage.Data, end: Int)? {
        var unescaping = JSONStringUnescaping()
        bytes.withUnsafeBytes { unescaping.unescape($0, from: start, into: UnsafeMutableRawBufferPointer(memory)) }
        guard unescaping.malformedOffset == nil else { return nil }
        return (PlainMessage.Data(count: unescaping.count, isASCII: false), unescaping.end)
    }

    /// The text of a message's data.
    @inline(__always)
    package func string(_ data: PlainMessage.Data) -> String {
        String(validUTF8: UnsafeBufferPointer(rebasing: memory[..<data.count]), isASCII: data.isASCII)
    }
}

extension String {
    /// The bytes of the range as they are. They are valid UTF-8.
    @inline(__always)
    package init(validUTF8 bytes: Span<UInt8>, _ range: Range<Int>) {
        self = bytes.extracting(range).withUnsafeBufferPointer { String(validUTF8: $0, isASCII: false) }
    }

    /// Bytes that are valid UTF-8. Where the system has no way to say so, they are checked.
    @inline(__always)
    fileprivate init(validUTF8 bytes: UnsafeBufferPointer<UInt8>, isASCII: Bool) {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else {
            self.init(decoding: bytes, as: UTF8.self)
            return
        }
        self.init(copying: UTF8Span(unchecked: bytes.span, isKnownASCII: isASCII))
    }
}
