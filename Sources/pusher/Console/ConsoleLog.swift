import Foundation
import NIOCore

/// One line of the console's log.
struct ConsoleEntry: Encodable, Sendable {
    /// The line's index in the log. The first line has the index 0. If an index is missing, lines were lost.
    let index: Int
    /// Milliseconds since 1970.
    let time: Int
    let kind: RecordDescription.Kind
    let who: String
    let verb: String
    let subject: String
    let channel: String?
    let detail: String
    let payload: String?
    /// The number of bytes by which the payload is shortened.
    let omittedSize: Int

    private static let detailLimit = 300
    /// The longest payload, in bytes.
    private static let payloadLimit = 16 << 10

    init(index: Int, time: Date, _ description: RecordDescription) {
        self.index = index
        self.time = Int(time.timeIntervalSince1970 * 1_000)
        self.kind = description.kind
        self.who = description.who.inOneLine(limit: Self.detailLimit)
        self.verb = description.verb
        self.subject = description.subject.inOneLine(limit: Self.detailLimit)
        self.channel = description.channel?.inOneLine(limit: Self.detailLimit)
        self.detail = description.detail.inOneLine(limit: Self.detailLimit)
        let payload = description.payload?.utf8.prefix(Self.payloadLimit)
        self.payload = payload.map { String(decoding: $0, as: UTF8.self) }
        self.omittedSize = (description.payload?.utf8.count ?? 0) - (payload?.count ?? 0)
    }

    /// The approximate memory of the line, in bytes.
    fileprivate var size: Int {
        [who, subject, channel, detail, payload].reduce(200) { $0 + ($1?.utf8.count ?? 0) }
    }
}

/// The newest lines, within limits for their number and size.
struct ConsoleLog: Sendable {
    private var entries = CircularBuffer<ConsoleEntry>()
    private var size = 0
    /// The index of the next line.
    private(set) var nextIndex = 0

    private let countLimit: Int
    private let sizeLimit: Int

    /// - Parameters:
    ///   - countLimit: The limit for the number of lines. Default: 10,000.
    ///   - sizeLimit: The approximate limit for the bytes of all lines. Default: 32 MiB.
    init(countLimit: Int = 10_000, sizeLimit: Int = 32 << 20) {
        self.countLimit = countLimit
        self.sizeLimit = sizeLimit
    }

    mutating func append(_ description: RecordDescription, at time: Date = Date()) {
        let entry = ConsoleEntry(index: nextIndex, time: time, description)
        entries.append(entry)
        nextIndex += 1
        size += entry.size
        while entries.count > countLimit || size > sizeLimit, let oldest = entries.popFirst() { size -= oldest.size }
    }

    /// Leaves a gap in the indices for lines that were lost.
    mutating func skip(_ count: Int) { nextIndex += max(0, count) }

    /// Returns the lines from this index, oldest first.
    func entries(from index: Int, limit: Int) -> [ConsoleEntry] {
        let start = entries.partitioningIndex { $0.index >= index }
        return Array(entries[start...].prefix(limit))
    }
}

extension CircularBuffer {
    /// Returns the first position whose element matches. Requires that all later elements also match.
    fileprivate func partitioningIndex(where matches: (Element) -> Bool) -> Index {
        var (low, count) = (startIndex, self.count)
        while count > 0 {
            let half = count / 2
            let middle = index(low, offsetBy: half)
            if matches(self[middle]) {
                count = half
            } else {
                low = index(after: middle)
                count -= half + 1
            }
        }
        return low
    }
}
