import NIOConcurrencyHelpers
import NIOCore

/// The items for the only reader of a stream, and the task that waits for them.
final class EventStreamInbox: Sendable {
    enum Item: Hashable, Sendable {
        case opened(EventStreamResponse)
        case bytes(ByteBuffer)
        /// The response of that attempt has ended.
        case ended(Int)
        /// The client reconnects.
        case lost(EventStreamError)
    }

    /// Why the sequence ends without an error.
    enum Ending: Hashable, Sendable {
        /// The app has closed the stream.
        case closed
        /// By status 204.
        case stoppedByServer
        /// The response is complete, and the request must not be repeated.
        case endOfResponse
    }

    typealias End = Result<Ending, EventStreamError>

    private struct State {
        var items: [Item] = []
        /// The size of the bytes among the items.
        var size = 0
        var isFull = false
        var end: End?
        var waiting: [CheckedContinuation<Void, Never>] = []

        mutating func takeWaiting() -> [CheckedContinuation<Void, Never>] {
            defer { waiting = [] }
            return waiting
        }
    }

    private let limit: Int
    private let state = NIOLockedValueBox(State())

    /// - Parameter limit: In bytes.
    init(limit: Int) { self.limit = max(limit, 1) }

    /// Whether items wait for the reader.
    var isEmpty: Bool { state.withLockedValue { $0.items.isEmpty } }

    /// - Returns: Whether the limit is exceeded now.
    func append(_ bytes: ByteBuffer) -> Bool {
        let (isFull, waiting) = state.withLockedValue { state in
            if case .bytes(var last)? = state.items.last {
                state.items.removeLast()
                last.writeImmutableBuffer(bytes)
                state.items.append(.bytes(last))
            } else {
                // A copy, because a few bytes can be part of a large buffer, whose memory would not be counted.
                state.items.append(.bytes(ByteBuffer(bytes: bytes.readableBytesView)))
            }
            state.size += bytes.readableBytes
            state.isFull = state.size >= limit
            return (state.isFull, state.takeWaiting())
        }
        for continuation in waiting { continuation.resume() }
        return isFull
    }

    func append(_ item: Item) {
        let waiting = state.withLockedValue { state in
            // Attempts can fail again and again while the reader takes nothing.
            if case .lost = item, case .lost? = state.items.last { state.items.removeLast() }
            state.items.append(item)
            return state.takeWaiting()
        }
        for continuation in waiting { continuation.resume() }
    }

    /// The last item. Earlier items are discarded if the app has closed the stream.
    func finish(_ end: End) {
        let waiting = state.withLockedValue { state in
            state.end = end
            if end == .success(.closed) { state.items = [] }
            return state.takeWaiting()
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Removes all items.
    ///
    /// - Returns: The items, which may be none; the end, if there will be no more; and whether reading can continue.
    func take() -> (items: [Item], end: End?, wasFull: Bool) {
        state.withLockedValue { state in
            defer { (state.items, state.size, state.isFull) = ([], 0, false) }
            return (state.items, state.items.isEmpty ? state.end : nil, state.isFull)
        }
    }

    /// Returns when there are items, or the end.
    func wait() async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLockedValue { state in
                if !state.items.isEmpty || state.end != nil { return true }
                state.waiting.append(continuation)
                return false
            }
            if isReady { continuation.resume() }
        }
    }
}
