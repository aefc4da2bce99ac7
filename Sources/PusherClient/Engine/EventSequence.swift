import NIOConcurrencyHelpers

/// The elements that happen from the moment the sequence is made: none is missed between making and iterating it.
///
/// It keeps up to ``PusherClientOptions/Limits-swift.struct/sequenceBuffer`` elements. If events of channels come
/// faster than the consumer takes them, the client stops reading from the socket for a while. If the consumer does not
/// move, and in sequences of anything else, the newest elements are kept. The others are counted in ``droppedCount``.
/// The sequence ends when its source does: the channel is unsubscribed, or the client is released; and, for the task
/// that iterates, when that task is cancelled. Each element goes to one iterator: make a sequence for each consumer.
/// Dropping the sequence, with its iterators, ends its upkeep.
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

    /// How many elements were dropped so far, because they came faster than they were taken.
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

/// Hands each element to every sequence that was made of it.
final class Broadcast<Element: Sendable>: Sendable {
    private struct Recipient {
        let buffer: EventBuffer<Element>
        /// Whether the sequence wants an element.
        let wants: (@Sendable (Element) -> Bool)?
    }

    private struct State {
        var recipients: [Recipient] = []
        /// What a sequence begins with: one element, or none. An array, so that those which have none need no memory
        /// for one.
        var replayed: [Element]
        var isFinished = false
    }

    private let makeBuffer: @Sendable () -> EventBuffer<Element>
    private let state: NIOLockedValueBox<State>
    private let replaysLatest: Bool

    /// - Parameters:
    ///   - initial: What a sequence begins with, until there is something later; nil for sequences that begin with what
    ///     comes next.
    ///   - makeBuffer: Makes the buffer of a sequence.
    init(initial: Element? = nil, _ makeBuffer: @escaping @Sendable () -> EventBuffer<Element>) {
        self.makeBuffer = makeBuffer
        self.state = NIOLockedValueBox(State(replayed: initial.map { [$0] } ?? []))
        self.replaysLatest = initial != nil
    }

    /// - Parameter wants: Which elements the sequence has; nil for all.
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
            // Taken out under the lock, released outside it: what it keeps can own anything.
            _ = self?.state.withLockedValue { state in
                state.recipients.firstIndex { ObjectIdentifier($0.buffer) == id }.map {
                    state.recipients.remove(at: $0)
                }
            }
        }
    }

    @discardableResult
    func send(_ element: Element) -> Drop {
        // What was the latest is released outside the lock: it can own anything.
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
