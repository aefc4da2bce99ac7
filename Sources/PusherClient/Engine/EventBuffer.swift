import NIOConcurrencyHelpers
import NIOCore
import RealtimePrimitives

/// Elements that wait for a consumer, within the budget.
final class EventBuffer<Element: Sendable>: Sendable {
    /// The result of adding elements.
    struct Addition {
        /// Whether a call waits for an element, so that the caller must call ``EventBuffer/wake()``.
        var mustWake = false
        /// Whether the client must wait for the consumer from now on.
        var mustAwait = false
        /// The space that is left in the buffer.
        var space = BufferLevel.Space()
        var drop = Drop()
    }

    /// A call that waits for an element.
    private struct Waiter {
        let id: UInt64
        let continuation: CheckedContinuation<Element?, Never>
        /// The visit of the call's task in virtual time.
        let visit: AppWork.Visit?

        func resume(returning element: Element?) {
            guard let visit else { return continuation.resume(returning: element) }
            visit.end { continuation.resume(returning: element) }
        }
    }

    private struct State {
        var elements = CircularBuffer<Element>(initialCapacity: 1)
        var consumed = ConsumedEvents<Element>()
        var level: BufferLevel
        var waiting: [Waiter] = []
        var serial: UInt64 = 0
        /// The number of elements that were taken.
        var takenCount = 0
        var droppedCount = 0
        var isDropping = false
        var isFinished = false
        /// Whether a call waits, and other code will call ``EventBuffer/wake()``.
        var isToBeWoken = false

        /// Removes the elements that the buffer must drop.
        mutating func drop(_ size: (Element) -> Int) -> (elements: [Element], drop: Drop) {
            var dropped: [Element] = []
            while level.mustDrop, let oldest = elements.popFirst() {
                level.drop(size(oldest))
                dropped.append(oldest)
            }
            guard !dropped.isEmpty else { return ([], Drop()) }
            defer { isDropping = true }
            droppedCount += dropped.count
            return (dropped, Drop(count: dropped.count, began: isDropping ? 0 : 1))
        }
    }

    private let budget: BufferBudget
    /// The event loop that adds most of the elements; nil if there is no such loop.
    private let eventLoop: (any EventLoop)?
    /// Returns the size of an element.
    private let size: @Sendable (Element) -> Int
    private let state: NIOLockedValueBox<State>
    /// The app's work in virtual time; nil in real time.
    let work: AppWork?

    /// - Parameters:
    ///   - work: The app's work in virtual time; nil in real time.
    ///   - eventLoop: The event loop that stops reading for a slow consumer. If it is nil, a full buffer drops its
    ///     oldest elements.
    ///   - size: The size of an element, in bytes.
    init(
        _ budget: BufferBudget,
        of work: AppWork? = nil,
        awaitedBy eventLoop: (any EventLoop)? = nil,
        size: @escaping @Sendable (Element) -> Int = { _ in 256 }
    ) {
        self.budget = budget
        self.work = work
        self.eventLoop = eventLoop
        self.size = size
        state = NIOLockedValueBox(State(level: BufferLevel(budget, canBeAwaited: eventLoop != nil)))
    }

    deinit { _ = state.withLockedValue { $0.level.clear() } }

    var droppedCount: Int { state.withLockedValue { $0.droppedCount } }
    var isFinished: Bool { state.withLockedValue { $0.isFinished } }
    /// The number of calls of ``next()`` that wait for an element.
    var waitingCount: Int { state.withLockedValue { $0.waiting.count } }

    /// Adds an element, and resumes a call that waits for an element.
    @discardableResult
    func add(_ element: Element) -> Drop {
        let addition = append([element])
        if addition.mustWake { wake() }
        return addition.drop
    }

    /// Adds elements, in their order. If the result has `mustWake`, the caller must call ``wake()`` after adding to all
    /// buffers. A consumer that wakes earlier would compete with the event loop for a processor.
    func append(_ elements: consuming [Element]) -> Addition {
        // Move the elements one by one. With copies, two threads would change the reference count of an element at the
        // same time.
        elements.reverse()
        let (addition, dropped): (Addition, [Element]) = state.withLockedValue { state in
            guard !state.isFinished else { return (Addition(), []) }
            var addition = Addition()
            while let element = elements.popLast() {
                let size = size(element)
                state.elements.append(element)
                addition.mustAwait = state.level.add(size)
            }
            if !state.waiting.isEmpty, !state.isToBeWoken {
                state.isToBeWoken = true
                addition.mustWake = true
            }
            let dropped = state.drop(size)
            addition.drop = dropped.drop
            addition.space = state.level.space
            return (addition, dropped.elements)
        }
        // Release the elements outside the lock, because releasing them may call the client.
        withExtendedLifetime(dropped) {}
        return addition
    }

    /// Resumes the calls that wait for elements.
    func wake() {
        state.withLockedValue { $0.isToBeWoken = false }
        while let (element, waiter) = takeForWaiting() { waiter.resume(returning: element) }
    }

    private func takeForWaiting() -> (Element, Waiter)? {
        let taken = state.withLockedValue { state -> (Element, Waiter, Bool)? in
            guard !state.waiting.isEmpty, let (element, hasCaughtUp) = takeFirst(&state) else { return nil }
            return (element, state.waiting.removeFirst(), hasCaughtUp)
        }
        guard let (element, waiter, hasCaughtUp) = taken else { return nil }
        if hasCaughtUp { budget.total.tellCaughtUp() }
        return (element, waiter)
    }

    private func takeFirst(_ state: inout State) -> (Element, hasCaughtUp: Bool)? {
        guard let element = state.elements.popFirst() else { return nil }
        if state.elements.isEmpty { state.isDropping = false }
        state.takenCount += 1
        let size = size(element)
        if eventLoop != nil, !state.isFinished { state.consumed.add(element, size: size) }
        return (element, state.level.take(size))
    }

    /// Removes the consumed elements, if there are many, or if no other elements are left.
    private func takeConsumed(_ state: inout State) -> ConsumedEvents<Element>? {
        state.consumed.isFull || state.elements.isEmpty ? state.consumed.take() : nil
    }

    /// Ends the buffer. It accepts no more elements, but a consumer can still take the kept elements.
    ///
    /// - Parameter last: The last elements, which the buffer accepts even if they exceed the limits.
    func finish(after last: [Element] = []) {
        // Release the consumed elements here, because the event loop may be shut down from now on.
        let consumed = state.withLockedValue { state in
            if !state.isFinished {
                for element in last {
                    state.elements.append(element)
                    _ = state.level.add(size(element))
                }
            }
            state.isFinished = true
            return state.consumed.take()
        }
        withExtendedLifetime(consumed) {}
        wake()
        let waiting = state.withLockedValue { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in waiting { waiter.resume(returning: nil) }
    }

    /// Drops all elements, because no consumer is left.
    func discard() {
        // Release the elements outside the lock, because releasing them may call the client.
        var elements = CircularBuffer<Element>(initialCapacity: 1)
        let (wasAwaited, consumed) = state.withLockedValue { state in
            state.isFinished = true
            swap(&elements, &state.elements)
            return (state.level.clear(), state.consumed.take())
        }
        withExtendedLifetime(consumed) {}
        if wasAwaited { budget.total.tellCaughtUp() }
    }

    // Other modules call this method, and cannot specialize it for their type of element. Without specialization, each
    // call looks up the types of all buffers and optionals at run time.
    #if compiler(>=6.3)
        @specialized(where Element == PusherEvent)
    #endif
    func next(for consumer: AppWork.Consumer? = nil) async -> Element? {
        if Task.isCancelled { return nil }
        let visit = consumer?.makeVisit()
        var consumed: ConsumedEvents<Element>?
        let (taken, id) = state.withLockedValue { state in
            state.serial += 1
            defer { consumed = takeConsumed(&state) }
            let taken = takeFirst(&state)
            if taken != nil { visit?.runs() }
            return (taken, state.serial)
        }
        if let eventLoop { consumed?.release(on: eventLoop) }
        if let (element, hasCaughtUp) = taken {
            if hasCaughtUp { budget.total.tellCaughtUp() }
            return element
        }
        return await withCancellationHandler {
            await withCheckedContinuation { continuation in
                let (result, hasCaughtUp): (Element??, Bool) = state.withLockedValue { state in
                    // Check the cancellation under the lock, so that a later cancellation finds the continuation.
                    if Task.isCancelled { return (.some(nil), false) }
                    if let (element, hasCaughtUp) = takeFirst(&state) {
                        visit?.runs()
                        return (element, hasCaughtUp)
                    }
                    if state.isFinished { return (.some(nil), false) }
                    state.waiting.append(Waiter(id: id, continuation: continuation, visit: visit))
                    visit?.waits()
                    return (.none, false)
                }
                if hasCaughtUp { budget.total.tellCaughtUp() }
                if let result { continuation.resume(returning: result) }
            }
        } onCancel: {
            let waiter = state.withLockedValue { state in
                state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0) }
            }
            guard let waiter else { return }
            visit?.runs()
            waiter.continuation.resume(returning: nil)
        }
    }
}

extension EventBuffer: AwaitedListener {
    var isAwaited: Bool { state.withLockedValue { $0.level.isAwaited } }

    var progress: Int { state.withLockedValue { $0.takenCount } }

    func stopWaiting(isStalled: Bool, for engine: ClientEngine) {
        let dropped = state.withLockedValue { state in
            state.level.stopWaiting()
            defer { if !isStalled { state.level.reopen() } }
            return state.drop(size)
        }
        engine.count(dropped.drop)
    }
}

/// Elements that sequences dropped.
struct Drop {
    var count = 0
    /// The number of sequences for which this was the first drop since they were last empty.
    var began = 0

    mutating func add(_ other: Drop) {
        count += other.count
        began += other.began
    }
}
