import NIOConcurrencyHelpers
import NIOCore

/// The items for the only reader of a stream, and the task that waits for them.
final class EventStreamInbox: Sendable {
    enum Item: Hashable, Sendable {
        /// - Parameter isWhole: Whether the whole body is one event.
        case opened(EventStreamResponse, isWhole: Bool)
        case bytes(ByteBuffer)
        /// The response of the attempt with this number has ended.
        ///
        /// - Parameter isComplete: Whether the server has sent the whole body.
        case ended(Int, isComplete: Bool)
        /// A connection was lost or an attempt failed, and the client will try again.
        case lost(EventStreamError)
    }

    /// The reason why the sequence ends without an error.
    enum Ending: Hashable, Sendable {
        /// The app has closed the stream, or has stopped iterating.
        case closed
        /// The server answered with this status, and without content.
        case withoutContent(status: Int)
        /// The client has read a body that is one event.
        case answered
        /// The response is complete, and the client must not repeat the request.
        case endOfResponse
    }

    typealias End = Result<Ending, EventStreamError>

    private struct State {
        var items: [Item] = []
        /// The number of bytes in the items.
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

    /// - Parameter limit: The number of bytes in the inbox at which the client stops reading.
    init(limit: Int) { self.limit = max(limit, 1) }

    /// Whether the inbox has items for the reader.
    var isEmpty: Bool { state.withLockedValue { $0.items.isEmpty } }

    /// - Returns: Whether the inbox has reached its limit.
    func append(_ bytes: ByteBuffer) -> Bool {
        let (isFull, waiting) = state.withLockedValue { state in
            if case .bytes(var last)? = state.items.last {
                state.items.removeLast()
                last.writeImmutableBuffer(bytes)
                state.items.append(.bytes(last))
            } else {
                // The code copies the bytes. A small slice would retain the memory of its whole buffer, and the limit
                // would not count this memory.
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
            // A loss replaces the last item if that item is also a loss. Otherwise, a series of failed attempts could
            // fill the inbox while the reader takes nothing.
            if case .lost = item, case .lost? = state.items.last { state.items.removeLast() }
            state.items.append(item)
            return state.takeWaiting()
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Ends the sequence after the items in the inbox. If the app has closed the stream, the inbox discards these
    /// items.
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
    /// - Returns: The items, and whether the inbox was full. If there are no items and the sequence has ended, the
    ///   result also contains the reason for the end.
    func take() -> (items: [Item], end: End?, wasFull: Bool) {
        state.withLockedValue { state in
            defer { (state.items, state.size, state.isFull) = ([], 0, false) }
            return (state.items, state.items.isEmpty ? state.end : nil, state.isFull)
        }
    }

    /// Waits until there are items or the sequence has ended.
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
