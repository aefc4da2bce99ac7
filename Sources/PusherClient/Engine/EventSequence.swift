import NIOConcurrencyHelpers

/// A sequence of all elements since its creation, including the elements before the iteration begins.
///
/// The sequence keeps up to ``PusherClientOptions/Limits-swift.struct/sequenceBuffer`` elements. If events of channels
/// arrive faster than the consumer takes them, the client stops reading from the socket for a while. If the consumer
/// takes nothing, or if the elements are not events of channels, the sequence keeps the newest elements.
/// ``droppedCount`` is the number of dropped elements. The sequence ends when the channel is unsubscribed, or the
/// client is released. For a task that iterates, the sequence also ends when the task is cancelled. Each element goes
/// to one iterator, so make a sequence for each consumer. To stop a sequence, release it and its iterators.
public struct EventSequence<Element: Sendable>: AsyncSequence, Sendable {
    /// The sequence does not throw.
    public typealias Failure = Never

    // The client has its own buffer, because `AsyncStream` does not report how many elements it dropped.
    let buffer: EventBuffer<Element>
    private let registration: Registration
    /// A closure that the sequence calls when an iteration begins; nil for no closure.
    private var onIteration: (@Sendable () -> Void)?

    init(buffer: EventBuffer<Element>, onRelease: @escaping @Sendable () -> Void) {
        self.buffer = buffer
        self.registration = Registration { [buffer] in
            onRelease()
            buffer.discard()
        }
    }

    /// The number of elements dropped so far, because they arrived faster than the consumer took them.
    public var droppedCount: Int { buffer.droppedCount }

    /// Makes an iterator.
    public func makeAsyncIterator() -> AsyncIterator {
        onIteration?()
        return AsyncIterator(
            buffer: buffer,
            registration: registration,
            consumer: buffer.work?.makeConsumer(of: Element.self)
        )
    }

    /// Returns the sequence with a warning for loops that wait although the app has not called `connect()`.
    func needingConnection(of engine: ClientEngine) -> Self {
        var sequence = self
        sequence.onIteration = { [weak engine, weak buffer = buffer] in
            engine?.watchForConnection("A loop over events") { (buffer?.waitingCount ?? 0) > 0 }
        }
        return sequence
    }

    /// An iterator that returns one element after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let buffer: EventBuffer<Element>
        fileprivate let registration: Registration
        /// The consumer in virtual time; nil in real time.
        fileprivate let consumer: AppWork.Consumer?

        /// Returns the next element; nil when the sequence ends or the task is cancelled.
        #if compiler(>=6.3)
            @specialized(where Element == PusherEvent)
        #endif
        public mutating func next() async -> Element? { await buffer.next(for: consumer) }

        /// Returns the next element; nil when the sequence ends or the task is cancelled.
        ///
        /// A loop on an actor calls this method, and so stays on the actor's executor.
        #if compiler(>=6.3)
            @specialized(where Element == PusherEvent)
        #endif
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await buffer.next(for: consumer)
        }
    }
}

/// An object that lives as long as a sequence or one of its iterators.
final class Registration: Sendable {
    private let onRelease: @Sendable () -> Void

    init(onRelease: @escaping @Sendable () -> Void) { self.onRelease = onRelease }

    deinit { onRelease() }
}

/// A source that adds each element to every sequence made from it.
final class Broadcast<Element: Sendable>: Sendable {
    private struct Recipient {
        let buffer: EventBuffer<Element>
        /// A filter for the elements of the sequence; nil for all elements.
        let wants: (@Sendable (Element) -> Bool)?
    }

    private struct State {
        var recipients: [Recipient] = []
        /// The first element of a new sequence, or no element. The type is an array, because an empty array needs no
        /// memory.
        var replayed: [Element]
        var isFinished = false
        /// The elements that wait for a sequence; nil if elements do not wait.
        var held: Box<HeldElements<Element>>?
    }

    private let makeBuffer: @Sendable () -> EventBuffer<Element>
    private let state: NIOLockedValueBox<State>
    private let replaysLatest: Bool
    /// Returns the size of an element that waits for a sequence, in bytes.
    private let size: @Sendable (Element) -> Int

    /// - Parameters:
    ///   - initial: The first element of a sequence, until there is a later element; nil if sequences begin with the
    ///     next element.
    ///   - size: Returns the size of an element that waits for a sequence, in bytes. See ``holdElements()``.
    ///   - makeBuffer: A closure that makes the buffer of a sequence.
    init(
        initial: Element? = nil,
        size: @escaping @Sendable (Element) -> Int = { _ in 256 },
        _ makeBuffer: @escaping @Sendable () -> EventBuffer<Element>
    ) {
        self.makeBuffer = makeBuffer
        self.size = size
        self.state = NIOLockedValueBox(State(replayed: initial.map { [$0] } ?? []))
        self.replaysLatest = initial != nil
    }

    /// Holds elements while there is no sequence, until ``dropHeldElements()``. The next sequence gets them.
    func holdElements() {
        state.withLockedValue { state in
            guard !state.isFinished, state.held == nil else { return }
            state.held = Box(HeldElements())
        }
    }

    /// Drops the held elements. Later elements do not wait for a sequence.
    func dropHeldElements() {
        // Release the elements outside the lock, because releasing them may call the client.
        _ = state.withLockedValue { state in
            defer { state.held = nil }
            return state.held
        }
    }

    /// - Parameters:
    ///   - wants: A filter for the elements of the sequence; nil for all elements.
    ///   - dropped: A closure that the method calls with the number of elements that the sequence misses, because too many
    ///     waited for it.
    func makeSequence(
        of wants: (@Sendable (Element) -> Bool)? = nil,
        dropped: (Int) -> Void = { _ in }
    ) -> EventSequence<Element> {
        let buffer = makeBuffer()
        var droppedCount = 0
        defer { if droppedCount > 0 { dropped(droppedCount) } }
        let isFinished = state.withLockedValue { state in
            if let held = state.held?.value {
                for element in held.elements where wants?(element) ?? true { buffer.add(element) }
                droppedCount = held.droppedCount
                state.held = Box(HeldElements())
            }
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
            // Remove the recipient under the lock, and release it outside the lock, because releasing its elements may
            // call the client.
            _ = self?.state.withLockedValue { state in
                state.recipients.firstIndex { ObjectIdentifier($0.buffer) == id }.map {
                    state.recipients.remove(at: $0)
                }
            }
        }
    }

    @discardableResult
    func send(_ element: Element) -> Drop {
        // Release the previous element outside the lock, because releasing it may call the client.
        var latest = [element]
        let recipients = state.withLockedValue { state in
            if replaysLatest { swap(&latest, &state.replayed) }
            if state.recipients.isEmpty { latest += state.held?.value.append(element, size: size) ?? [] }
            return state.recipients
        }
        var drop = Drop()
        for recipient in recipients where recipient.wants?(element) ?? true { drop.add(recipient.buffer.add(element)) }
        return drop
    }

    func finish() {
        let recipients = state.withLockedValue { state in
            state.isFinished = true
            state.held = nil
            defer { state.recipients = [] }
            return state.recipients
        }
        for recipient in recipients { recipient.buffer.finish() }
    }
}
