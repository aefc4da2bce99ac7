import NIOConcurrencyHelpers
import NIOCore

/// The elements that happen from the moment the sequence is made: none is missed between making and iterating it.
///
/// It keeps the newest ``PusherClientOptions/Limits-swift.struct/sequenceBuffer`` elements for a consumer that is
/// slower than they come, and counts what it had to drop. What comes in one read of the socket, which may be hundreds of
/// events, comes faster than any consumer. It ends when its source does: the channel is unsubscribed, or
/// the client is released; and, for the task that iterates, when that task is cancelled. Each element goes to one
/// iterator: make a sequence for each consumer. Dropping the sequence, with its iterators, ends its upkeep.
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

/// What has happened and was not taken yet, up to a limit.
final class EventBuffer<Element: Sendable>: Sendable {
    /// What adding an element did.
    enum Addition {
        case kept
        /// The oldest element went for it, and it is the first to go since the buffer was last empty.
        case beganDropping
        case dropped
    }

    private struct State {
        var elements = CircularBuffer<Element>()
        var waiting: [(id: UInt64, continuation: CheckedContinuation<Element?, Never>)] = []
        var serial: UInt64 = 0
        var droppedCount = 0
        var isDropping = false
        var isFinished = false
        /// True where somebody waits, and somebody else is going to call ``EventBuffer/wake()``.
        var isToBeWoken = false

        mutating func takeFirst() -> Element? {
            guard let element = elements.popFirst() else { return nil }
            if elements.isEmpty { isDropping = false }
            return element
        }

        mutating func takeFirstForWaiting() -> (element: Element, to: CheckedContinuation<Element?, Never>)? {
            guard !waiting.isEmpty, let element = takeFirst() else { return nil }
            return (element, waiting.removeFirst().continuation)
        }
    }

    private let limit: Int
    private let state = NIOLockedValueBox(State())

    init(limit: Int) { self.limit = Swift.max(limit, 1) }

    var droppedCount: Int { state.withLockedValue { $0.droppedCount } }
    /// How many calls of ``next()`` wait for an element.
    var waitingCount: Int { state.withLockedValue { $0.waiting.count } }

    /// Adds an element, and gives it to whoever waits for one.
    @discardableResult
    func add(_ element: Element) -> Addition {
        let (addition, mustWake) = append(element)
        if mustWake { wake() }
        return addition
    }

    /// Adds an element. Where somebody waits for one, and nobody is to wake them yet, the caller has to call ``wake()``,
    /// once for all that it adds: a consumer that is woken by the first of many elements would compete for them with
    /// the one that brings them.
    func append(_ element: Element) -> (Addition, mustWake: Bool) {
        // An element can own anything; it must not be released while the lock is held.
        var evicted: Element?
        var handedOver: (element: Element, to: CheckedContinuation<Element?, Never>)?
        let result: (Addition, Bool) = state.withLockedValue { state in
            guard !state.isFinished else { return (.kept, false) }
            var addition = Addition.kept
            if state.elements.count >= limit {
                handedOver = state.takeFirstForWaiting()
                if handedOver == nil {
                    evicted = state.elements.popFirst()
                    state.droppedCount += 1
                    addition = state.isDropping ? .dropped : .beganDropping
                    state.isDropping = true
                }
            }
            state.elements.append(element)
            guard !state.waiting.isEmpty, !state.isToBeWoken else { return (addition, false) }
            state.isToBeWoken = true
            return (addition, true)
        }
        if let (element, continuation) = handedOver { continuation.resume(returning: element) }
        _ = evicted
        return result
    }

    /// Gives what was added to those who wait for it.
    func wake() {
        state.withLockedValue { $0.isToBeWoken = false }
        while let (element, continuation) = state.withLockedValue({ $0.takeFirstForWaiting() }) {
            continuation.resume(returning: element)
        }
    }

    /// No element will come any more; those that are kept can still be taken.
    func finish() {
        state.withLockedValue { $0.isFinished = true }
        wake()
        let waiting = state.withLockedValue { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        for (_, continuation) in waiting { continuation.resume(returning: nil) }
    }

    /// Nobody is left who could take an element.
    func discard() {
        // Released outside the lock: an element can own anything.
        _ = state.withLockedValue { state in
            state.isFinished = true
            defer { state.elements = CircularBuffer(initialCapacity: 1) }
            return state.elements
        }
    }

    // Called from other modules, which cannot make a copy of it for their element. Without one, the type of every
    // buffer and option in it is looked up at run time, for each element.
    @specialized(where Element == PusherEvent)
    func next() async -> Element? {
        if Task.isCancelled { return nil }
        let (element, id) = state.withLockedValue { state in
            state.serial += 1
            return (state.takeFirst(), state.serial)
        }
        if let element { return element }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let result: Element?? = state.withLockedValue { state in
                    // Looked at under the lock: a cancellation after this finds the continuation.
                    if Task.isCancelled { return .some(nil) }
                    if let element = state.takeFirst() { return element }
                    if state.isFinished { return .some(nil) }
                    state.waiting.append((id, continuation))
                    return .none
                }
                if let result { continuation.resume(returning: result) }
            }
        } onCancel: {
            let continuation = state.withLockedValue { state in
                state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0).continuation }
            }
            continuation?.resume(returning: nil)
        }
    }
}

/// Sequences that had no room for an element.
struct SequenceOverflow {
    /// How many dropped one.
    var dropped = 0
    /// For how many of those it was the first.
    var began = 0

    mutating func add<Element>(_ addition: EventBuffer<Element>.Addition) {
        switch addition {
        case .kept: break
        case .beganDropping:
            dropped += 1
            began += 1
        case .dropped: dropped += 1
        }
    }

    mutating func add(_ other: SequenceOverflow) {
        dropped += other.dropped
        began += other.began
    }
}

/// Hands each element to every sequence that was made of it.
final class Broadcast<Element: Sendable>: Sendable {
    private struct State {
        var buffers: [EventBuffer<Element>] = []
        /// What a sequence begins with: one element, or none. An array, so that those which have none need no room for
        /// one.
        var replayed: [Element]
        var isFinished = false
    }

    private let limit: Int
    private let state: NIOLockedValueBox<State>
    private let replaysLatest: Bool

    /// - Parameter initial: What a sequence begins with, until there is something later; nil for sequences that begin
    ///   with what comes next.
    init(limit: Int, initial: Element? = nil) {
        self.limit = limit
        self.state = NIOLockedValueBox(State(replayed: initial.map { [$0] } ?? []))
        self.replaysLatest = initial != nil
    }

    func makeSequence() -> EventSequence<Element> {
        let buffer = EventBuffer<Element>(limit: limit)
        let isFinished = state.withLockedValue { state in
            for element in state.replayed { buffer.add(element) }
            if !state.isFinished { state.buffers.append(buffer) }
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
                state.buffers.firstIndex { ObjectIdentifier($0) == id }.map { state.buffers.remove(at: $0) }
            }
        }
    }

    @discardableResult
    func send(_ element: Element) -> SequenceOverflow {
        // What was the latest is released outside the lock: it can own anything.
        var latest = [element]
        let buffers = state.withLockedValue { state in
            if replaysLatest { swap(&latest, &state.replayed) }
            return state.buffers
        }
        var overflow = SequenceOverflow()
        for buffer in buffers { overflow.add(buffer.add(element)) }
        return overflow
    }

    func finish() {
        let buffers = state.withLockedValue { state in
            state.isFinished = true
            defer { state.buffers = [] }
            return state.buffers
        }
        for buffer in buffers { buffer.finish() }
    }
}
