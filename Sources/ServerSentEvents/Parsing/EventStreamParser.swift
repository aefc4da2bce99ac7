#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Turns the bytes of event streams into events.
///
/// It keeps what one response has left unfinished: the start of a line, and the fields of an event. Lines are read where they
/// are, and copied only if a chunk ends within one.
package struct EventStreamParser: Sendable {
    package enum Element: Hashable, Sendable {
        case event(ServerSentEvent)
        /// The text behind the colon.
        case comment(String)
    }

    /// An event's data and the current line have more bytes than the limit.
    package struct TooLarge: Error, Hashable, Sendable {}

    /// The id that a reconnect tells the server. A block's id counts from the block's end on.
    package private(set) var lastEventID: String
    /// In milliseconds, as the server's last `retry` field has it. A number that is too large is `Int64.max`.
    package private(set) var reconnectionTime: Int64?

    private let limit: Int
    private let reportsComments: Bool

    private var isFirstLine = true
    /// The last line ended with a CR: an LF that follows belongs to it.
    private var skipsLineFeed = false
    /// How many of the bytes that come next are known to have no LF among them. Without it, a stream that ends its lines with
    /// CR would be searched to the end of the chunk for each line.
    private var bytesWithoutLineFeed = 0
    /// The start of a line whose end has not come yet.
    private var line: [UInt8] = []

    private var type = ""
    private var id: String
    /// Each line of data with an LF behind it.
    private var data: [UInt8] = []

    /// - Parameters:
    ///   - lastEventID: Of the response before.
    ///   - limit: How many bytes an event's data and the current line may have together.
    package init(lastEventID: String = "", limit: Int = 16 << 20, reportsComments: Bool = false) {
        self.lastEventID = lastEventID
        self.limit = limit
        self.reportsComments = reportsComments
        id = lastEventID
    }

    /// Discards what the last response left unfinished. The id and the reconnection time stay.
    package mutating func startResponse() {
        var next = Self(lastEventID: lastEventID, limit: limit, reportsComments: reportsComments)
        next.reconnectionTime = reconnectionTime
        self = next
    }

    /// Reads up to the first element, or to the end.
    ///
    /// - Parameter bytes: What follows the bytes that were read before. Bytes that were not read have to come again.
    /// - Returns: How many bytes were read, and the element; `nil` if more bytes are needed.
    package mutating func read(_ bytes: UnsafeRawBufferPointer) throws(TooLarge) -> (count: Int, element: Element?) {
        var rest = bytes[...]
        while !rest.isEmpty {
            if skipsLineFeed {
                skipsLineFeed = false
                if rest.first == .lineFeed {
                    rest.removeFirst()
                    continue
                }
            }
            guard let end = endOfLine(in: rest) else {
                guard rest.count <= limit - data.count - line.count else { throw TooLarge() }
                line += rest
                return (bytes.count, nil)
            }
            let isReturn = rest[end] == .carriageReturn
            let element = try read(lineEndingWith: UnsafeRawBufferPointer(rebasing: rest[..<end]))
            bytesWithoutLineFeed = max(0, bytesWithoutLineFeed - (end + 1 - rest.startIndex))
            rest = rest[(end + 1)...]
            skipsLineFeed = isReturn
            if let element { return (bytes.count - rest.count, element) }
        }
        return (bytes.count, nil)
    }

    /// The index of the CR or LF that ends the current line.
    private mutating func endOfLine(in rest: Slice<UnsafeRawBufferPointer>) -> Int? {
        let searched = rest.startIndex + min(bytesWithoutLineFeed, rest.count)
        let lineFeed = UnsafeRawBufferPointer(rebasing: rest[searched...]).firstIndex(of: .lineFeed)
            .map { $0 + searched }
        let end = lineFeed ?? rest.endIndex
        bytesWithoutLineFeed = end - rest.startIndex
        let carriageReturn = UnsafeRawBufferPointer(rebasing: rest[..<end]).firstIndex(of: .carriageReturn)
        if lineFeed == nil, carriageReturn == nil { bytesWithoutLineFeed = 0 }
        return carriageReturn.map { $0 + rest.startIndex } ?? lineFeed
    }

    /// - Parameter part: The whole line, or what is missing of it.
    private mutating func read(lineEndingWith part: UnsafeRawBufferPointer) throws(TooLarge) -> Element? {
        guard part.count <= limit - data.count - line.count else { throw TooLarge() }
        guard !line.isEmpty else { return read(line: part) }
        var whole: [UInt8] = []
        swap(&whole, &line)
        whole += part
        let element = whole.withUnsafeBytes { read(line: $0) }
        whole.removeAllForReuse()
        swap(&whole, &line)
        return element
    }

    private mutating func read(line: UnsafeRawBufferPointer) -> Element? {
        var line = line
        if isFirstLine {
            isFirstLine = false
            if line.starts(with: [0xEF, 0xBB, 0xBF]) { line = UnsafeRawBufferPointer(rebasing: line[3...]) }
        }
        guard let first = line.first else { return endBlock() }
        if first == .colon {
            return reportsComments ? .comment(String(decoding: line.dropFirst(), as: UTF8.self)) : nil
        }
        let colon = UnsafeRawBufferPointer(rebasing: line.prefix(Self.longestName + 1)).firstIndex(of: .colon)
        // A longer name is none of those that mean something.
        guard let end = colon ?? (line.count <= Self.longestName ? line.count : nil) else { return nil }
        var value = line[min(end + 1, line.count)...]
        if value.first == .space { value.removeFirst() }
        read(field: UnsafeRawBufferPointer(rebasing: line[..<end]), UnsafeRawBufferPointer(rebasing: value))
        return nil
    }

    private static let longestName = 5

    private mutating func read(field name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        if name.elementsEqual("data".utf8) {
            data += value
            data.append(.lineFeed)
        } else if name.elementsEqual("event".utf8) {
            type = String(decoding: value, as: UTF8.self)
        } else if name.elementsEqual("id".utf8) {
            if value.firstIndex(of: 0) == nil { id = String(decoding: value, as: UTF8.self) }
        } else if name.elementsEqual("retry".utf8) {
            if let time = Self.milliseconds(value) { reconnectionTime = time }
        }
    }

    private static func milliseconds(_ digits: UnsafeRawBufferPointer) -> Int64? {
        guard !digits.isEmpty, digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        // All are digits, so it can only be too large.
        return Int64(String(decoding: digits, as: UTF8.self)) ?? .max
    }

    private mutating func endBlock() -> Element? {
        lastEventID = id
        let type = type
        self.type = ""
        guard !data.isEmpty else { return nil }
        let text = String(decoding: data.dropLast(), as: UTF8.self)
        data.removeAllForReuse()
        return .event(ServerSentEvent(event: type.isEmpty ? "message" : type, data: text, id: lastEventID))
    }
}

extension UInt8 {
    fileprivate static var lineFeed: UInt8 { 0x0A }
    fileprivate static var carriageReturn: UInt8 { 0x0D }
    fileprivate static var space: UInt8 { 0x20 }
    fileprivate static var colon: UInt8 { 0x3A }
}

extension [UInt8] {
    /// A large event must not keep its memory for all that come after it.
    fileprivate mutating func removeAllForReuse() { removeAll(keepingCapacity: capacity <= 1 << 16) }
}

extension UnsafeRawBufferPointer {
    /// The search of the C library, which looks at many bytes at once.
    fileprivate func firstIndex(of byte: UInt8) -> Int? {
        guard let baseAddress, let found = memchr(baseAddress, Int32(byte), count) else { return nil }
        return UnsafeRawPointer(found) - baseAddress
    }
}
