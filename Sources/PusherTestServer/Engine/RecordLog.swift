import NIOCore

/// The newest recorded elements, each with its index over the log's whole life.
struct BoundedLog<Element: Sendable>: Sendable {
    private var elements = CircularBuffer<Element>()
    private(set) var nextIndex = 0
    private let limit: Int

    init(limit: Int) { self.limit = max(0, limit) }

    var all: [Element] { Array(elements) }

    func last(_ count: Int) -> [Element] { Array(elements.suffix(count)) }

    /// - Parameter make: Gets the element's index.
    mutating func append(_ make: (_ index: Int) -> Element) {
        elements.append(make(nextIndex))
        nextIndex += 1
        if elements.count > limit { elements.removeFirst() }
    }

    /// Changes the element with that index, if it is kept.
    mutating func update(_ index: Int, _ change: (inout Element) -> Void) {
        guard let position = position(of: index) else { return }
        change(&elements[position])
    }

    /// The element with that index, or the oldest one after it that is kept.
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
