import NIOConcurrencyHelpers
import NIOCore
import RealtimePrimitives
import SignalRCore

/// A buffer for the received items of one stream that the app has not consumed.
final class StreamBuffer: Sendable {
    typealias Next = Result<EncodedValue?, any Error>

    private struct State {
        var items = CircularBuffer<EncodedValue>()
        var size = 0
        var end: Result<Void, any Error>?
        var waiting: CheckedContinuation<Next, Never>?
    }

    private let limit: Int
    private let state = NIOLockedValueBox(State())

    init(limit: Int) { self.limit = limit }

    /// Adds an item. Returns whether the buffer accepted the item.
    func append(_ item: EncodedValue) -> Bool {
        let (waiting, hasRoom): (CheckedContinuation<Next, Never>?, Bool) = state.withLockedValue { state in
            guard state.end == nil else { return (nil, true) }
            if let waiting = state.waiting {
                state.waiting = nil
                return (waiting, true)
            }
            // An item without content takes memory too, so each item counts as 64 additional bytes.
            guard state.size + item.count + 64 <= limit || state.items.isEmpty else { return (nil, false) }
            // An item is a part of a whole read of the socket. The copy keeps only the item in memory.
            state.items.append(ArraySlice(Array(item)))
            state.size += item.count + 64
            return (nil, true)
        }
        waiting?.resume(returning: .success(item))
        return hasRoom
    }

    /// Ends the stream after the items in the buffer.
    func finish(_ end: Result<Void, any Error>) { finish(end, droppingItems: false) }

    /// Ends the stream at once, because the app does not need the remaining items.
    func cancel() { finish(.success(()), droppingItems: true) }

    private func finish(_ end: Result<Void, any Error>, droppingItems: Bool) {
        let waiting: CheckedContinuation<Next, Never>? = state.withLockedValue { state in
            if droppingItems { (state.items, state.size) = (CircularBuffer(), 0) }
            if state.end == nil || droppingItems { state.end = end }
            defer { state.waiting = nil }
            // The buffer throws an error only once.
            if state.waiting != nil { state.end = .success(()) }
            return state.waiting
        }
        waiting?.resume(returning: end.map { nil })
    }

    /// Returns the next item, or `nil` when the stream has ended or the task is cancelled.
    func next() async throws -> EncodedValue? {
        let result: Next = await withCancellationHandler {
            await withCheckedContinuation { continuation in
                let (result, displaced): (Next?, CheckedContinuation<Next, Never>?) = state.withLockedValue { state in
                    if let item = state.items.popFirst() {
                        state.size -= item.count + 64
                        return (.success(item), nil)
                    }
                    if let end = state.end {
                        state.end = .success(())
                        return (end.map { nil }, nil)
                    }
                    // The code checks for a cancellation while it holds the lock, so a later cancellation finds the
                    // waiting consumer.
                    if Task.isCancelled { return (.success(nil), nil) }
                    defer { state.waiting = continuation }
                    return (nil, state.waiting)
                }
                // A stream has only one consumer, so the stream ends for an earlier consumer.
                displaced?.resume(returning: .success(nil))
                if let result { continuation.resume(returning: result) }
            }
        } onCancel: {
            let waiting = state.withLockedValue { state in
                defer { state.waiting = nil }
                return state.waiting
            }
            waiting?.resume(returning: .success(nil))
        }
        return try result.get()
    }
}
