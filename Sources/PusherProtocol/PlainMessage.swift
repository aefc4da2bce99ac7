import CRealtimeJSON
import RealtimeJSON

/// A message in the form that nearly all events have. The message is an object with only the keys `event`, `channel`,
/// `data` and `user_id`, each at most once. The names have no escapes, and `data` is a string or missing.
///
/// This value contains only the positions of the parts. ``Envelope/init(decoding:)`` accepts each such message, and
/// decodes it to the same values.
package struct PlainMessage {
    package private(set) var event = 0..<0
    /// The position of the channel's name. Empty if the message has no channel. A message with an empty name is not
    /// plain.
    package private(set) var channel = 0..<0
    private var userID = 0..<0
    /// The data, whose bytes are in the ``UnescapedText``; `nil` if the message has no data.
    private var data: UnescapedText.Content?

    /// Finds the parts of a message. Returns `nil` if the message is not plain.
    ///
    /// - Parameters:
    ///   - bytes: Valid UTF-8.
    ///   - text: The buffer for the unescaped data.
    package init?(scanning bytes: Span<UInt8>, unescapingInto text: inout UnescapedText) {
        var index = bytes.skippingWhitespace(from: 0)
        guard index < bytes.count, bytes[index] == UInt8(ascii: "{") else { return nil }
        repeat {
            // The index is after the brace or a comma.
            index = bytes.skippingWhitespace(from: index &+ 1)
            guard let key = Key(bytes, at: index) else { return nil }
            index = bytes.skippingWhitespace(from: index &+ key.size)
            guard index < bytes.count, bytes[index] == UInt8(ascii: ":") else { return nil }
            index = bytes.skippingWhitespace(from: index &+ 1)
            guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else { return nil }
            let start = index &+ 1
            let end: Int?
            switch key {
            case .data:
                guard data == nil, let (content, closing) = text.unescape(bytes, from: start) else { return nil }
                data = content
                end = closing
            case .event: end = Self.readName(into: &event, bytes, from: start)
            case .channel: end = Self.readName(into: &channel, bytes, from: start)
            case .userID: end = Self.readName(into: &userID, bytes, from: start)
            }
            guard let end, end < bytes.count, bytes[end] == UInt8(ascii: "\"") else { return nil }
            index = bytes.skippingWhitespace(from: end &+ 1)
        } while index < bytes.count && bytes[index] == UInt8(ascii: ",")
        guard index < bytes.count, bytes[index] == UInt8(ascii: "}"), !event.isEmpty else { return nil }
        guard bytes.skippingWhitespace(from: index &+ 1) == bytes.count else { return nil }
    }

    /// Returns the end of the name, or `nil` if the name is empty or the key appears twice.
    @inline(__always)
    private static func readName(into name: inout Range<Int>, _ bytes: Span<UInt8>, from start: Int) -> Int? {
        let end = bytes.endOfRun(from: start)
        guard name.isEmpty, end > start else { return nil }
        name = start..<end
        return end
    }

    /// Makes an envelope with the message's values. The envelope is equal to the result of
    /// ``Envelope/init(decoding:)``.
    package func envelope(of bytes: Span<UInt8>, _ text: borrowing UnescapedText) -> Envelope {
        let (event, channel) = names(in: bytes)
        return Envelope(
            event: event,
            channel: channel,
            data: data(in: text).map { .string($0) } ?? .none,
            userID: userID(in: bytes)
        )
    }

    package func names(in bytes: Span<UInt8>) -> (event: String, channel: String?) {
        // The names are keys of hash tables. Hashing is faster if Swift knows that a string is ASCII, so the copy
        // checks the bytes again.
        (String(copying: bytes, event), channel.isEmpty ? nil : String(copying: bytes, channel))
    }

    @inline(__always)
    package func data(in text: borrowing UnescapedText) -> String? { data.map { text.string($0) } }

    @inline(__always)
    package func userID(in bytes: Span<UInt8>) -> String? { userID.isEmpty ? nil : String(copying: bytes, userID) }

    private enum Key {
        case event, channel, data, userID

        /// The size with both quotation marks.
        @inline(__always)
        var size: Int {
            switch self {
            case .event: 7
            case .channel, .userID: 9
            case .data: 6
            }
        }

        // At least the four bytes `:""}` follow a key, so the initializer can read eight bytes after the first
        // quotation mark.
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
    /// Returns the offset of the first byte from `start` that is not JSON white space; the count if there is no such
    /// byte.
    @inline(__always)
    package func skippingWhitespace(from start: Int) -> Int {
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

/// A buffer for the unescaped data of one message at a time. The value keeps its memory until ``releaseMemory()``.
package struct UnescapedText: ~Copyable {
    fileprivate struct Content {
        /// The number of bytes.
        var count: Int
        var isASCII: Bool
    }

    private var memory = UnsafeMutableBufferPointer<UInt8>(start: nil, count: 0)
    private let unescapesInBlocks: Bool

    /// - Parameter isAccelerated: Whether to use vector instructions, if the processor has them. Tests also run without
    ///   these instructions.
    package init(isAccelerated: Bool = true) {
        unescapesInBlocks = isAccelerated && realtime_json_unescapes_in_blocks()
    }

    deinit { memory.deallocate() }

    package mutating func releaseMemory() {
        memory.deallocate()
        memory = UnsafeMutableBufferPointer(start: nil, count: 0)
    }

    /// Replaces the content by the string that begins at the offset, after its quotation mark. Returns the content and
    /// the offset of the closing quotation mark; `nil` if the string is malformed or does not end.
    @inline(__always)
    fileprivate mutating func unescape(_ bytes: Span<UInt8>, from start: Int) -> (Content, end: Int)? {
        let count = bytes.count &- start
        if memory.count < count &+ Self.slack { grow(to: count &+ Self.slack) }
        return bytes.withUnsafeBufferPointer { source -> (Content, end: Int)? in
            guard let from = source.baseAddress, let to = memory.baseAddress else { return nil }
            let unescaped = realtime_json_unescape_until_quote(from + start, count, unescapesInBlocks, to)
            guard unescaped.written >= 0 else { return nil }
            return (Content(count: unescaped.written, isASCII: unescaped.is_ascii), start &+ unescaped.end)
        }
    }

    /// Reads the JSON string whose opening quotation mark is at the index, and moves the index past it.
    ///
    /// - Parameters:
    ///   - bytes: Valid UTF-8.
    ///   - body: A closure that gets the unescaped bytes, which are valid UTF-8.
    /// - Returns: The result of `body`; `nil` if there is no string, or if the string is malformed or does not end.
    package mutating func readString<Result>(
        _ bytes: Span<UInt8>,
        at index: inout Int,
        _ body: (Span<UInt8>) -> Result
    ) -> Result? {
        guard index < bytes.count, bytes[index] == UInt8(ascii: "\""),
            let (content, end) = unescape(bytes, from: index &+ 1)
        else { return nil }
        index = end &+ 1
        return body(UnsafeBufferPointer(rebasing: memory[..<content.count]).span)
    }

    private static let slack = Int(REALTIME_JSON_UNESCAPE_SLACK)

    @inline(never)
    private mutating func grow(to size: Int) {
        memory.deallocate()
        memory = .allocate(capacity: max(size, 4096))
    }

    @inline(__always)
    fileprivate func string(_ content: Content) -> String {
        String(validUTF8: UnsafeBufferPointer(rebasing: memory[..<content.count]), isASCII: content.isASCII)
    }
}
