import Foundation
import NIOCore

/// One line of the console's log.
struct ConsoleEntry: Encodable, Sendable {
    /// Its place in the log, counted from 0 over the server's whole life. A gap means lost lines.
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
    /// The number of bytes of the payload that are left out.
    let omittedSize: Int

    private static let detailLimit = 300
    /// In bytes.
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

    /// About how much memory its texts take.
    fileprivate var size: Int {
        [who, subject, channel, detail, payload].reduce(200) { $0 + ($1?.utf8.count ?? 0) }
    }
}

/// The newest lines, as many as the limits allow.
struct ConsoleLog: Sendable {
    private var entries = CircularBuffer<ConsoleEntry>()
    private var size = 0
    /// The index of the next line.
    private(set) var nextIndex = 0

    private let countLimit: Int
    private let sizeLimit: Int

    /// - Parameters:
    ///   - countLimit: The largest number of lines. Default: 10,000.
    ///   - sizeLimit: The largest number of bytes of all lines, roughly. Default: 32 MiB.
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

    /// Leaves a gap for lines that were lost earlier.
    mutating func skip(_ count: Int) { nextIndex += max(0, count) }

    /// The lines from that index, oldest first.
    func entries(from index: Int, limit: Int) -> [ConsoleEntry] {
        let start = entries.partitioningIndex { $0.index >= index }
        return Array(entries[start...].prefix(limit))
    }
}

extension CircularBuffer {
    /// The first position whose element matches, if all later elements match too.
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
