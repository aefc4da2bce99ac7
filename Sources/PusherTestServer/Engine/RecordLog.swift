import NIOCore

/// A log that keeps only the newest elements. The index of an element also counts the removed elements before it.
struct BoundedLog<Element: Sendable>: Sendable {
    private var elements = CircularBuffer<Element>()
    private(set) var nextIndex = 0
    private let limit: Int

    init(limit: Int) { self.limit = max(0, limit) }

    var all: [Element] { Array(elements) }

    func last(_ count: Int) -> [Element] { Array(elements.suffix(count)) }

    /// - Parameter make: A closure that makes the element from its index.
    mutating func append(_ make: (_ index: Int) -> Element) {
        elements.append(make(nextIndex))
        nextIndex += 1
        if elements.count > limit { elements.removeFirst() }
    }

    /// Changes the element with this index if the log still contains it.
    mutating func update(_ index: Int, _ change: (inout Element) -> Void) {
        guard let position = position(of: index) else { return }
        change(&elements[position])
    }

    /// Returns the element with this index, or the oldest kept element after it. Returns nil if there is no such
    /// element yet.
    func first(from index: Int) -> Element? {
        position(of: max(index, nextIndex - elements.count)).map { elements[$0] }
    }

    private func position(of index: Int) -> CircularBuffer<Element>.Index? {
        let offset = index - (nextIndex - elements.count)
        guard offset >= 0, offset < elements.count else { return nil }
        return elements.index(elements.startIndex, offsetBy: offset)
    }
}

typealias RecordLog = BoundedLog<PusherTestServer.Record>

extension RecordLog {
    mutating func append(_ event: PusherTestServer.Record.Event, socketID: String?) {
        append { index in PusherTestServer.Record(index: index, socketID: socketID, event: event) }
    }
}
