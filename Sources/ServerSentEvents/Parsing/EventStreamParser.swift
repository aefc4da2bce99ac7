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
/// It keeps the unfinished part of a response: the start of a line, and the fields of an event. Lines are read in
/// place, and copied only if a chunk ends within one.
package struct EventStreamParser: Sendable {
    package enum Element: Hashable, Sendable {
        case event(ServerSentEvent)
        /// The text after the colon.
        case comment(String)
    }

    /// An event's data and the current line have more bytes than the limit.
    package struct TooLarge: Error, Hashable, Sendable {}

    /// The id that the client sends when it reconnects. The id of a block counts after the end of the block.
    package private(set) var lastEventID: String
    /// The server's last `retry` field, in milliseconds. A number that is too large is `Int64.max`.
    package private(set) var reconnectionTime: Int64?

    private let limit: Int
    private let reportsComments: Bool

    private var isFirstLine = true
    /// The last line ended with a CR: an LF that follows belongs to it.
    private var skipsLineFeed = false
    /// How many of the next bytes are known to contain no LF. Without it, each line of a stream that ends its lines
    /// with CR would cause a search to the end of the chunk.
    private var bytesWithoutLineFeed = 0
    /// The start of an unfinished line.
    private var line: [UInt8] = []
    /// Whether that line is one of data. Its value goes to ``data`` as it arrives.
    private var isWithinData = false
    /// How many bytes of the limit the current event has used, up to the next byte.
    private var size = 0

    private var type = ""
    private var id: String
    /// The lines of data, each followed by an LF.
    private var data = EventData()

    /// - Parameters:
    ///   - lastEventID: The last event id of the previous response.
    ///   - limit: The most bytes that an event's data and the current line may have together.
    package init(lastEventID: String = "", limit: Int = 16 << 20, reportsComments: Bool = false) {
        self.lastEventID = lastEventID
        self.limit = limit
        self.reportsComments = reportsComments
        id = lastEventID
    }

    /// Discards the unfinished part of the last response. The id and the reconnection time stay.
    package mutating func startResponse() {
        var next = Self(lastEventID: lastEventID, limit: limit, reportsComments: reportsComments)
        next.reconnectionTime = reconnectionTime
        self = next
    }

    /// Reads up to the first element, or to the end.
    ///
    /// - Parameter bytes: The bytes after those that were read before. The caller passes unread bytes again.
    /// - Returns: How many bytes were read, and the element; `nil` if more bytes are needed.
    package mutating func read(_ bytes: UnsafeRawBufferPointer) throws(TooLarge) -> (count: Int, element: Element?) {
        var rest = bytes[...]
        // The only line of data so far, in place: most events are read without copying it.
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
            // Of the lines, only the data with its line feeds remains.
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

    /// Copies the only line of data, because its chunk ends, or because there is another line.
    private mutating func keep(_ onlyData: inout UnsafeRawBufferPointer?) {
        guard let value = onlyData else { return }
        data.append(value)
        data.append(.lineFeed)
        onlyData = nil
    }

    /// The index of the CR or LF that ends the current line.
    private mutating func endOfLine(in rest: Slice<UnsafeRawBufferPointer>) -> Int? {
        // Each event ends with an empty line, for which two searches would cost too much.
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
        // A byte order mark, the name, the colon and a space are not longer, so the rest is certainly the value.
        guard line.count > 9 else { return }
        line.withUnsafeBytes { line in
            let line = withoutMark(line)
            guard let value = line.value(of: "data") else { return }
            (isFirstLine, isWithinData) = (false, true)
            data.append(value)
        }
        if isWithinData { line.removeAllForReuse() }
    }

    /// - Parameter part: The whole line, or its missing part.
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

    /// The line without the byte order mark that may begin a stream.
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
        // All are digits, so it can only be too large.
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
    /// A large event must not keep its memory for all later events.
    fileprivate mutating func removeAllForReuse() { removeAll(keepingCapacity: capacity <= 1 << 16) }
}

extension UnsafeRawBufferPointer {
    /// The value of a field, if the line has that name.
    fileprivate func value(of name: StaticString) -> UnsafeRawBufferPointer? {
        let length = name.utf8CodeUnitCount
        guard let baseAddress, count >= length, memcmp(baseAddress, name.utf8Start, length) == 0 else { return nil }
        guard count > length else { return UnsafeRawBufferPointer(rebasing: self[length...]) }
        guard self[length] == .colon else { return nil }
        let start = count > length + 1 && self[length + 1] == .space ? length + 2 : length + 1
        return UnsafeRawBufferPointer(rebasing: self[start...])
    }
}
