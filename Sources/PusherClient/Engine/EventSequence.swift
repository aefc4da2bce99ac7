import NIOConcurrencyHelpers

/// A sequence of elements from the moment it is created, also those before the iteration begins.
///
/// It keeps up to ``PusherClientOptions/Limits-swift.struct/sequenceBuffer`` elements. If events of channels arrive
/// faster than the consumer takes them, the client stops reading from the socket for a while. If the consumer takes
/// nothing, or if the elements are not events of channels, the sequence keeps the newest elements. It counts the others
/// in ``droppedCount``. The sequence ends when its source does: when the channel is unsubscribed, or the client is
/// released. For the task that iterates, it also ends when that task is cancelled. Each element goes to one iterator:
/// make a sequence for each consumer. To stop it, release the sequence and its iterators.
public struct EventSequence<Element: Sendable>: AsyncSequence, Sendable {
    /// The sequence does not throw.
    public typealias Failure = Never

    let buffer: EventBuffer<Element>
    private let registration: Registration

    init(buffer: EventBuffer<Element>, onRelease: @escaping @Sendable () -> Void) {
        self.buffer = buffer
        self.registration = Registration { [buffer] in
            onRelease()
            buffer.discard()
        }
    }

    /// How many elements were dropped so far, because they arrived faster than they were consumed.
    public var droppedCount: Int { buffer.droppedCount }

    /// Makes an iterator.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(buffer: buffer, registration: registration)
    }

    /// Gives one element after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let buffer: EventBuffer<Element>
        fileprivate let registration: Registration

        /// The next element; nil at the end, and when the task is cancelled.
        @specialized(where Element == PusherEvent)
        public mutating func next() async -> Element? { await buffer.next() }
    }
}

/// Lives as long as the sequence or one of its iterators.
final class Registration: Sendable {
    private let onRelease: @Sendable () -> Void

    init(onRelease: @escaping @Sendable () -> Void) { self.onRelease = onRelease }

    deinit { onRelease() }
}

/// Adds each element to every sequence that was made from it.
final class Broadcast<Element: Sendable>: Sendable {
    private struct Recipient {
        let buffer: EventBuffer<Element>
        /// Which elements the sequence gets; nil for all.
        let wants: (@Sendable (Element) -> Bool)?
    }

    private struct State {
        var recipients: [Recipient] = []
        /// The first element of a new sequence, or none. An array, so that an empty one needs no memory.
        var replayed: [Element]
        var isFinished = false
    }

    private let makeBuffer: @Sendable () -> EventBuffer<Element>
    private let state: NIOLockedValueBox<State>
    private let replaysLatest: Bool

    /// - Parameters:
    ///   - initial: The first element of a sequence, until there is a later one; nil if sequences begin with the next
    ///     element.
    ///   - makeBuffer: Makes the buffer of a sequence.
    init(initial: Element? = nil, _ makeBuffer: @escaping @Sendable () -> EventBuffer<Element>) {
        self.makeBuffer = makeBuffer
        self.state = NIOLockedValueBox(State(replayed: initial.map { [$0] } ?? []))
        self.replaysLatest = initial != nil
    }

    /// - Parameter wants: Which elements the sequence gets; nil for all.
    func makeSequence(of wants: (@Sendable (Element) -> Bool)? = nil) -> EventSequence<Element> {
        let buffer = makeBuffer()
        let isFinished = state.withLockedValue { state in
            for element in state.replayed where wants?(element) ?? true { buffer.add(element) }
            if !state.isFinished { state.recipients.append(Recipient(buffer: buffer, wants: wants)) }
            return state.isFinished
        }
        if isFinished {
            buffer.finish()
            return EventSequence(buffer: buffer) {}
        }
        let id = ObjectIdentifier(buffer)
        return EventSequence(buffer: buffer) { [weak self] in
            // Removed under the lock and released outside it, because an element can own any object.
            _ = self?.state.withLockedValue { state in
                state.recipients.firstIndex { ObjectIdentifier($0.buffer) == id }.map {
                    state.recipients.remove(at: $0)
                }
            }
        }
    }

    @discardableResult
    func send(_ element: Element) -> Drop {
        // The previous element is released outside the lock, because it can own any object.
        var latest = [element]
        let recipients = state.withLockedValue { state in
            if replaysLatest { swap(&latest, &state.replayed) }
            return state.recipients
        }
        var drop = Drop()
        for recipient in recipients where recipient.wants?(element) ?? true { drop.add(recipient.buffer.add(element)) }
        return drop
    }

    func finish() {
        let recipients = state.withLockedValue { state in
            state.isFinished = true
            defer { state.recipients = [] }
            return state.recipients
        }
        for recipient in recipients { recipient.buffer.finish() }
    }
}
