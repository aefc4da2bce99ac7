/// The newest records, and who waits for more.
struct RecordLog: Sendable {
    private var records: [PusherTestServer.Record] = []
    /// Of `records`, so many at the front are forgotten; they are removed in bulk.
    private var forgotten = 0
    private(set) var nextIndex = 0
    private let limit: Int

    typealias Reader = CheckedContinuation<Void, any Error>

    enum WaiterState: Sendable {
        /// Announced, but not suspended yet.
        case announced
        case suspended(Reader)
        /// Ended by a timeout or a cancellation before it was suspended.
        case ended(any Error)
    }
    var waiters: [Int: WaiterState] = [:]
    var lastWaiter = 0

    init(limit: Int) { self.limit = max(0, limit) }

    var all: [PusherTestServer.Record] { Array(records.dropFirst(forgotten)) }

    mutating func append(_ event: PusherTestServer.Record.Event, socketID: String?) {
        records.append(PusherTestServer.Record(index: nextIndex, socketID: socketID, event: event))
        nextIndex += 1
        if records.count - forgotten > limit { forgotten += 1 }
        if forgotten > 1024, forgotten > records.count / 2 {
            records.removeFirst(forgotten)
            forgotten = 0
        }
    }

    /// The record with that index, or the oldest one after it that is kept.
    func first(from index: Int) -> PusherTestServer.Record? {
        let oldest = nextIndex - (records.count - forgotten)
        let position = forgotten + max(0, index - oldest)
        return position < records.count ? records[position] : nil
    }

    mutating func takeWaitingReaders() -> [Reader] {
        var readers: [Reader] = []
        for case (let id, .suspended(let reader)) in waiters {
            readers.append(reader)
            waiters[id] = nil
        }
        return readers
    }
}
