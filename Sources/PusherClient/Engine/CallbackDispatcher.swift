import Dispatch
import Logging
import NIOConcurrencyHelpers
import NIOCore

/// Runs user code where the options say, in order, and never more of it than the limit.
final class CallbackDispatcher: Sendable {
    enum Job: Sendable {
        case event(Binding, PusherEvent)
        /// A call that is not an event's: it is never dropped.
        case call(@Sendable () -> Void)
        case dropped
    }

    fileprivate struct State {
        var pending = CircularBuffer<Job>()
        var pendingEvents = 0
        var droppedEvents = 0
        var isScheduled = false
        var hasRun = false
        var watchdog: Scheduled<Void>?
    }

    /// How long a queue may leave the first callback alone before the log says so.
    private static let patience = TimeAmount.seconds(5)

    private let queue: PusherClientOptions.CallbackQueue
    private let limit: Int
    private let eventLoop: any EventLoop
    private let logger: Logger
    private let onDrop: @Sendable (Int) -> Void
    private let state = NIOLockedValueBox(State())

    /// - Parameter onDrop: Called with the number of events that a slow queue cost, when it has caught up.
    init(
        queue: PusherClientOptions.CallbackQueue,
        limit: Int,
        eventLoop: any EventLoop,
        logger: Logger,
        onDrop: @escaping @Sendable (Int) -> Void
    ) {
        self.queue = queue
        self.limit = max(limit, 1)
        self.eventLoop = eventLoop
        self.logger = logger
        self.onDrop = onDrop
    }

    /// Called on the event loop.
    func enqueue(_ job: Job) {
        switch queue {
        case .eventLoop: Self.run(job)
        case .main: enqueue(job, on: .main)
        case .queue(let queue): enqueue(job, on: queue)
        }
    }

    private func enqueue(_ job: Job, on queue: DispatchQueue) {
        // What is dropped is released outside the lock.
        var dropped: Job?
        let (mustSchedule, mustWatch) = state.withLockedValue { state in
            if case .event = job {
                if state.pendingEvents >= limit { dropped = state.dropOldestEvent() }
                state.pendingEvents += 1
            }
            state.pending.append(job)
            defer { state.isScheduled = true }
            return (!state.isScheduled, !state.hasRun && state.watchdog == nil)
        }
        _ = dropped
        if mustWatch { watch() }
        if mustSchedule { queue.async { self.drain(queue) } }
    }

    /// Runs what was pending when it began, and leaves the rest to another turn of the queue.
    private func drain(_ queue: DispatchQueue) {
        let (count, watchdog) = state.withLockedValue { state in
            state.hasRun = true
            defer { state.watchdog = nil }
            return (state.pending.count, state.watchdog)
        }
        watchdog?.cancel()
        for _ in 0..<count {
            guard let job = state.withLockedValue({ $0.next() }) else { break }
            Self.run(job)
        }
        let (mustGoOn, dropped) = state.withLockedValue { state in
            state.isScheduled = !state.pending.isEmpty
            guard !state.isScheduled else { return (true, 0) }
            defer { state.droppedEvents = 0 }
            return (false, state.droppedEvents)
        }
        if dropped > 0 { onDrop(dropped) }
        if mustGoOn { queue.async { self.drain(queue) } }
    }

    private static func run(_ job: Job) {
        switch job {
        case .event(let binding, let event): binding.call(event)
        case .call(let call): call()
        case .dropped: break
        }
    }

    // MARK: A queue that does not run

    private func watch() {
        let logger = logger
        let watchdog = eventLoop.scheduleTask(in: Self.patience) {
            guard !self.state.withLockedValue({ $0.hasRun }) else { return }
            logger.warning(
                """
                Callbacks wait for a queue that has not run for 5 s. A process without a main run loop never runs the \
                main queue: call dispatchMain(), or choose another callbackQueue in PusherClientOptions.
                """
            )
        }
        let isLate = state.withLockedValue { state in
            if !state.hasRun { state.watchdog = watchdog }
            return state.hasRun
        }
        if isLate { watchdog.cancel() }
    }

    /// Nothing is left of the dispatcher's own on the event loop.
    func stop() {
        let watchdog = state.withLockedValue { state in
            defer { state.watchdog = nil }
            return state.watchdog
        }
        watchdog?.cancel()
    }
}

extension CallbackDispatcher.State {
    mutating func next() -> CallbackDispatcher.Job? {
        let job = pending.popFirst()
        if case .event = job { pendingEvents -= 1 }
        return job
    }

    mutating func dropOldestEvent() -> CallbackDispatcher.Job? {
        let oldest = pending.firstIndex { if case .event = $0 { true } else { false } }
        guard let oldest else { return nil }
        let job = pending[oldest]
        pending[oldest] = .dropped
        while case .dropped = pending.first { _ = pending.popFirst() }
        pendingEvents -= 1
        droppedEvents += 1
        return job
    }
}
