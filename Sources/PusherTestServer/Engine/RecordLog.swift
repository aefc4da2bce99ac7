/// The newest of what has been recorded, each with its index over the whole life.
struct BoundedLog<Element: Sendable>: Sendable {
    private var elements: [Element] = []
    /// Of `elements`, so many at the front are forgotten; they are removed in bulk.
    private var forgotten = 0
    private(set) var nextIndex = 0
    private let limit: Int

    init(limit: Int) { self.limit = max(0, limit) }

    var all: [Element] { Array(elements.dropFirst(forgotten)) }

    /// - Parameter make: is told the element's index.
    mutating func append(_ make: (_ index: Int) -> Element) {
        elements.append(make(nextIndex))
        nextIndex += 1
        if elements.count - forgotten > limit { forgotten += 1 }
        if forgotten > 1024, forgotten > elements.count / 2 {
            elements.removeFirst(forgotten)
            forgotten = 0
        }
    }

    /// Changes the element with that index, where it is kept.
    mutating func update(_ index: Int, _ change: (inout Element) -> Void) {
        let oldest = nextIndex - (elements.count - forgotten)
        guard index >= oldest, index < nextIndex else { return }
        change(&elements[forgotten + index - oldest])
    }

    /// The element with that index, or the oldest one after it that is kept.
    func first(from index: Int) -> Element? {
        let oldest = nextIndex - (elements.count - forgotten)
        let position = forgotten + max(0, index - oldest)
        return position < elements.count ? elements[position] : nil
    }
}

typealias RecordLog = BoundedLog<PusherTestServer.Record>

extension RecordLog {
    mutating func append(_ event: PusherTestServer.Record.Event, socketID: String?) {
        append { index in PusherTestServer.Record(index: index, socketID: socketID, event: event) }
    }
}
