import RealtimePrimitives

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Turns the bytes of event streams into events.
///
/// The parser keeps the unfinished part of a response: the start of a line, and the fields of an event. The parser
/// reads lines in place. It copies data only if a chunk ends within the event, or if the event has several lines of
/// data.
package struct EventStreamParser: Sendable {
    package enum Element: Hashable, Sendable {
        case event(ServerSentEvent)
        /// The text after the colon.
        case comment(String)
    }

    /// The error for an event whose data and current line together have more bytes than the limit.
    package struct TooLarge: Error, Hashable, Sendable {}

    /// The id that the client sends when it reconnects. An `id` line changes the id only at the next empty line.
    package private(set) var lastEventID: String
    /// The server's last `retry` field, in milliseconds. If the number is too large, the value is `Int64.max`.
    package private(set) var reconnectionTime: Int64?

    private let limit: Int
    private let reportsComments: Bool

    private var isFirstLine = true
    /// Whether the last line ended with a CR. An LF that follows is part of the same line end.
    private var skipsLineFeed = false
    /// The number of following bytes in which the parser has already found no LF. Without this number, each line that
    /// ends with CR would cause a search to the end of the chunk.
    private var bytesWithoutLineFeed = 0
    /// The start of an unfinished line.
    private var line: [UInt8] = []
    /// Whether the unfinished line is a line of data. The parser appends the value to ``data`` as it arrives.
    private var isWithinData = false
    /// The number of bytes of the current event and line that count toward the limit.
    private var size = 0

    private var type = ""
    private var id: String
    /// The lines of data, each with an LF at its end.
    private var data = EventData()

    /// - Parameters:
    ///   - lastEventID: The last event id of the previous response.
    ///   - limit: The maximum number of bytes of an event's data and the current line together.
    package init(lastEventID: String = "", limit: Int = 16 << 20, reportsComments: Bool = false) {
        self.lastEventID = lastEventID
        self.limit = limit
        self.reportsComments = reportsComments
        id = lastEventID
    }

    /// Discards the unfinished part of the last response, and keeps the id and the reconnection time.
    package mutating func startResponse() {
        var next = Self(lastEventID: lastEventID, limit: limit, reportsComments: reportsComments)
        next.reconnectionTime = reconnectionTime
        self = next
    }

    /// Reads to the end of the next element, or to the end of the bytes.
    ///
    /// - Parameter bytes: The bytes that follow the bytes read so far. The caller passes unread bytes again.
    /// - Returns: The number of bytes that were read, and the element; `nil` if the parser needs more bytes.
    package mutating func read(_ bytes: UnsafeRawBufferPointer) throws(TooLarge) -> (count: Int, element: Element?) {
        var rest = bytes[...]
        // The only line of data so far, within the caller's bytes. The parser does not copy the line unless it must, so
        // it reads most events without a copy.
        var onlyData: UnsafeRawBufferPointer?
        while !rest.isEmpty {
            if skipsLineFeed {
                skipsLineFeed = false
                if rest.first == .lineFeed {
                    rest.removeFirst()
                    continue
                }
            }
            guard let end = endOfLine(in: rest) else {
                keep(&onlyData)
                try take(rest.count)
                readStart(UnsafeRawBufferPointer(rebasing: rest))
                return (bytes.count, nil)
            }
            try take(end - rest.startIndex)
            let isReturn = rest[end] == .carriageReturn
            let element = read(lineEndingWith: UnsafeRawBufferPointer(rebasing: rest[..<end]), &onlyData)
            // After the end of a line, only data counts toward the limit.
            size = data.count + (onlyData.map { $0.count + 1 } ?? 0)
            bytesWithoutLineFeed = max(0, bytesWithoutLineFeed - (end + 1 - rest.startIndex))
            rest = rest[(end + 1)...]
            skipsLineFeed = isReturn
            if let element {
                keep(&onlyData)
                return (bytes.count - rest.count, element)
            }
        }
        keep(&onlyData)
        return (bytes.count, nil)
    }

    /// Counts bytes of the current line.
    private mutating func take(_ count: Int) throws(TooLarge) {
        guard count <= limit - size else { throw TooLarge() }
        size += count
    }

    /// Appends the data line that is still in the caller's bytes to ``data``. Call this method before the next line of
    /// data, and before the bytes become invalid.
    private mutating func keep(_ onlyData: inout UnsafeRawBufferPointer?) {
        guard let value = onlyData else { return }
        data.append(value)
        data.append(.lineFeed)
        onlyData = nil
    }

    /// The index of the CR or LF that ends the current line.
    private mutating func endOfLine(in rest: Slice<UnsafeRawBufferPointer>) -> Int? {
        // Each event ends with an empty line. For such a short line, the two searches below would cost too much.
        if rest.first == .lineFeed { return rest.startIndex }
        let searched = rest.startIndex + min(bytesWithoutLineFeed, rest.count)
        let lineFeed = UnsafeRawBufferPointer(rebasing: rest[searched...]).offset(of: .lineFeed)
            .map { $0 + searched }
        let end = lineFeed ?? rest.endIndex
        bytesWithoutLineFeed = end - rest.startIndex
        let carriageReturn = UnsafeRawBufferPointer(rebasing: rest[..<end]).offset(of: .carriageReturn)
        if lineFeed == nil, carriageReturn == nil { bytesWithoutLineFeed = 0 }
        return carriageReturn.map { $0 + rest.startIndex } ?? lineFeed
    }

    /// Handles a chunk that ends within a line.
    private mutating func readStart(_ part: UnsafeRawBufferPointer) {
        if isWithinData {
            data.append(part)
            return
        }
        line += part
        // A byte order mark, the name, the colon and a space have at most 9 bytes, so the next bytes belong to the
        // value.
        guard line.count > 9 else { return }
        line.withUnsafeBytes { line in
            let line = withoutMark(line)
            guard let value = line.value(of: "data") else { return }
            (isFirstLine, isWithinData) = (false, true)
            data.append(value)
        }
        if isWithinData { line.removeAllForReuse() }
    }

    /// - Parameter part: The whole line, or the rest of a line that began in an earlier chunk.
    private mutating func read(
        lineEndingWith part: UnsafeRawBufferPointer,
        _ onlyData: inout UnsafeRawBufferPointer?
    ) -> Element? {
        if isWithinData {
            isWithinData = false
            data.append(part)
            data.append(.lineFeed)
            return nil
        }
        guard !line.isEmpty else { return read(line: part, &onlyData) }
        var whole: [UInt8] = []
        swap(&whole, &line)
        whole += part
        let element = whole.withUnsafeBytes { whole in
            let element = read(line: whole, &onlyData)
            keep(&onlyData)
            return element
        }
        whole.removeAllForReuse()
        swap(&whole, &line)
        return element
    }

    /// Returns the line without the byte order mark that a stream may begin with.
    private func withoutMark(_ line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        isFirstLine && line.starts(with: [0xEF, 0xBB, 0xBF]) ? UnsafeRawBufferPointer(rebasing: line[3...]) : line
    }

    private mutating func read(
        line: UnsafeRawBufferPointer,
        _ onlyData: inout UnsafeRawBufferPointer?
    ) -> Element? {
        let line = withoutMark(line)
        isFirstLine = false
        switch line.first {
        case nil: return endBlock(&onlyData)
        case .colon?:
            return reportsComments ? .comment(String(decoding: line.dropFirst(), as: UTF8.self)) : nil
        case UInt8(ascii: "d")?:
            guard let value = line.value(of: "data") else { return nil }
            let isOnly = data.isEmpty && onlyData == nil
            keep(&onlyData)
            onlyData = value
            if !isOnly { keep(&onlyData) }
        case UInt8(ascii: "e")?:
            if let value = line.value(of: "event") { type = String(decoding: value, as: UTF8.self) }
        case UInt8(ascii: "i")?:
            guard let value = line.value(of: "id"), value.offset(of: 0) == nil else { return nil }
            id = String(decoding: value, as: UTF8.self)
        case UInt8(ascii: "r")?:
            guard let value = line.value(of: "retry"), let time = Self.milliseconds(value) else { return nil }
            reconnectionTime = time
        default: break
        }
        return nil
    }

    private static func milliseconds(_ digits: UnsafeRawBufferPointer) -> Int64? {
        guard !digits.isEmpty, digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        // All characters are digits, so the number can only be too large.
        return Int64(String(decoding: digits, as: UTF8.self)) ?? .max
    }

    private mutating func endBlock(_ onlyData: inout UnsafeRawBufferPointer?) -> Element? {
        lastEventID = id
        let event = type.isEmpty ? "message" : type
        type = ""
        let text: String
        if let value = onlyData {
            onlyData = nil
            text = String(decoding: value, as: UTF8.self)
        } else if !data.isEmpty {
            text = data.takeText()
        } else {
            return nil
        }
        return .event(ServerSentEvent(event: event, data: text, id: lastEventID))
    }
}

extension UInt8 {
    fileprivate static var lineFeed: UInt8 { 0x0A }
    fileprivate static var carriageReturn: UInt8 { 0x0D }
    fileprivate static var space: UInt8 { 0x20 }
    fileprivate static var colon: UInt8 { 0x3A }
}

extension [UInt8] {
    /// Removes all bytes, and frees a large buffer. The memory for one large event must not stay allocated for all
    /// later events.
    fileprivate mutating func removeAllForReuse() { removeAll(keepingCapacity: capacity <= 1 << 16) }
}

extension UnsafeRawBufferPointer {
    /// Returns the value of the field in this line; `nil` if the field has another name.
    fileprivate func value(of name: StaticString) -> UnsafeRawBufferPointer? {
        let length = name.utf8CodeUnitCount
        guard let baseAddress, count >= length, memcmp(baseAddress, name.utf8Start, length) == 0 else { return nil }
        guard count > length else { return UnsafeRawBufferPointer(rebasing: self[length...]) }
        guard self[length] == .colon else { return nil }
        let start = count > length + 1 && self[length + 1] == .space ? length + 2 : length + 1
        return UnsafeRawBufferPointer(rebasing: self[start...])
    }
}
