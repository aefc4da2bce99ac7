import NIOCore

/// A log that keeps only the newest elements. The index of an element also counts the removed elements before it.
struct BoundedLog<Element: Sendable>: Sendable {
    private var elements = CircularBuffer<Element>()
    /// The sizes of the elements.
    private var sizes = CircularBuffer<Int>()
    private var totalSize = 0
    private(set) var nextIndex = 0
    private let limit: Int
    private let maximumSize: Int

    /// - Parameter maximumSize: The limit for the sum of the sizes. The log keeps the newest element even if this
    ///   element alone exceeds the limit, so that readers can see it.
    init(limit: Int, maximumSize: Int = .max) {
        self.limit = max(0, limit)
        self.maximumSize = maximumSize
    }

    var all: [Element] { Array(elements) }

    func last(_ count: Int) -> [Element] { Array(elements.suffix(count)) }

    /// - Parameter make: A closure that makes the element from its index.
    mutating func append(size: Int = 0, _ make: (_ index: Int) -> Element) {
        elements.append(make(nextIndex))
        sizes.append(size)
        totalSize += size
        nextIndex += 1
        while elements.count > limit || elements.count > 1 && totalSize > maximumSize {
            elements.removeFirst()
            totalSize -= sizes.removeFirst()
        }
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
        append(size: event.size) { index in PusherTestServer.Record(index: index, socketID: socketID, event: event) }
    }
}

extension PusherTestServer.Record.Event {
    /// The number of bytes in messages and requests. Other texts are short, or are parts of a message or a request that
    /// has its own record.
    fileprivate var size: Int {
        switch self {
        case .messageReceived(let text), .messageSent(let text), .webhookIssued(let text): text.utf8.count
        case .binaryReceived(let bytes): bytes.count
        case .connectionRequested(let request), .authorizationRequested(let request), .requestAnswered(let request, _):
            request.size
        default: 0
        }
    }
}

extension PusherTestServer.Request {
    fileprivate var size: Int {
        headers.reduce(path.utf8.count + query.utf8.count + body.count) { size, header in
            size + header.name.utf8.count + header.value.utf8.count
        }
    }
}
