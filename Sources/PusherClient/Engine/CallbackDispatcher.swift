import Atomics
import Dispatch
import Logging
import NIOConcurrencyHelpers
import NIOCore

/// A dispatcher that runs callbacks in order, on one queue or on the event loop, with a limit on waiting callbacks.
final class CallbackDispatcher: Sendable {
    /// The work that runs on the queue.
    fileprivate enum Job: Sendable {
        case events(EventBatch)
        /// The size is that of the function's values, in bytes. The epoch is nil if the call is not for an event.
        case call(size: Int, epoch: CallbackEpochs.Epoch?, @Sendable () -> Void)

        /// The number of callbacks that the job represents.
        var count: Int {
            switch self {
            case .events(let batch): batch.count
            case .call: 1
            }
        }

        var size: Int {
            switch self {
            case .events(let batch): batch.size
            case .call(let size, _, _): 256 + size
            }
        }
    }

    /// The rule for waiting jobs if the queue is too slow.
    enum Retention: Sendable {
        /// If there are too many jobs, the dispatcher drops the oldest job. This rule is for jobs whose number depends
        /// on the server.
        case newest
        /// The rule of ``newest``, with a separate count, for outcomes of subscriptions, and for reports of dropped
        /// callbacks.
        case outcomes
        /// The rule of ``newest``, with a separate count, for changes of the connection's state. So the dispatcher
        /// always delivers the last change.
        case states
    }

    enum Drop: Sendable {
        case began
        /// The queue has caught up, after the dispatcher has dropped this number of jobs.
        case ended(count: Int)
    }

    fileprivate struct Pending {
        let serial: UInt64
        let job: Job
    }

    fileprivate struct State {
        fileprivate var events = Self.empty
        /// The number of callbacks that ``events`` represents.
        fileprivate var eventCount = 0
        fileprivate var level: BufferLevel
        fileprivate var outcomes = Self.empty
        fileprivate var states = Self.empty
        // All buffers share this empty buffer until they get a job, because most buffers of a client stay empty.
        private static let empty = CircularBuffer<Pending>(initialCapacity: 1)
        fileprivate var serial: UInt64 = 0
        /// The number of dropped callbacks since the queue last caught up.
        var droppedCount = 0
        var droppedInAll = 0
        var isScheduled = false
        /// Whether the dispatcher has ever had a callback for its queue.
        var isUsed = false
        var hasRun = false
        /// Whether the event loop may be shut down.
        var isStopped = false
        var watchdog: Scheduled<Void>?
    }

    /// The time that the first callback may wait before the client logs a warning.
    static let patience = TimeAmount.seconds(5)

    /// The queue; `nil` if callbacks run on the event loop.
    private let queue: DispatchQueue?
    private let budget: BufferBudget
    private let eventLoop: any EventLoop
    private let logger: Logger
    private let state: NIOLockedValueBox<State>
    /// The number of events and calls that the dispatcher has handled.
    private let runCount = ManagedAtomic(0)
    /// The events that the next ``submit(for:)`` adds to the queue together.
    private let collected: NIOLoopBoundBox<EventBatch>
    private let changes: ChangeCount
    private let epochs: CallbackEpochs
    private let work: AppWork?

    init(
        queue: PusherClientOptions.CallbackQueue,
        _ budget: BufferBudget,
        eventLoop: any EventLoop,
        logger: Logger,
        changes: ChangeCount,
        epochs: CallbackEpochs,
        work: AppWork? = nil
    ) {
        self.changes = changes
        self.work = work
        self.epochs = epochs
        self.queue =
            switch queue {
            case .eventLoop: nil
            case .main: .main
            case .queue(let queue): queue
            }
        self.budget = budget
        state = NIOLockedValueBox(State(level: BufferLevel(budget, canBeAwaited: true)))
        self.eventLoop = eventLoop
        self.logger = logger
        collected = .makeBoxSendingValue(EventBatch(), eventLoop: eventLoop)
    }

    /// Whether callbacks run on the event loop.
    var runsInPlace: Bool { queue == nil }

    /// Whether callbacks run, or wait for their queue. Only the event loop may read this property.
    var isBusy: Bool { !collected.value.isEmpty || state.withLockedValue { $0.isScheduled } }

    /// Whether the dispatcher has ever had a callback for its queue.
    var isUsed: Bool { state.withLockedValue { $0.isUsed } }

    /// Whether the event loop may be shut down.
    private var isStopped: Bool { state.withLockedValue { $0.isStopped } }

    /// The number of callbacks dropped so far, because they arrived faster than the queue ran them.
    var droppedCount: Int { state.withLockedValue { $0.droppedInAll } }

    /// Collects an event. After the last event, call ``submit(for:)``. Call both methods on the event loop.
    func collect(_ event: PusherEvent, _ recipients: EventRecipients) {
        if collected.value.isEmpty {
            use()
            collected.value.epoch = epochs.ofDelivery
        }
        collected.value.append(event, recipients)
    }

    /// Adds the collected events to the queue. Call this method on the event loop.
    func submit(for engine: ClientEngine) {
        guard !collected.value.isEmpty else { return }
        var batch = EventBatch()
        swap(&batch, &collected.value)
        batch.close()
        add(.events(batch), keep: .newest, for: engine)
    }

    /// Calls a function on the queue, or at once if callbacks run on the event loop. Call this method on the event
    /// loop.
    ///
    /// - Parameters:
    ///   - size: The size of the function's values, in bytes, if it is large.
    ///   - isEvent: Whether the call is for an event of the connection. Such a call does not begin after the app has ended
    ///     the connection.
    ///   - engine: The engine that reports when a slow queue begins to drop jobs, and when it has caught up. The queue
    ///     retains the engine while jobs wait.
    func enqueue(
        keep retention: Retention = .newest,
        size: Int = 0,
        isEvent: Bool = false,
        for engine: ClientEngine,
        _ call: @escaping @Sendable () -> Void
    ) {
        let epoch = isEvent ? epochs.ofDelivery : nil
        guard !runsInPlace else {
            if mayBegin(epoch) { call() }
            return
        }
        use()
        submit(for: engine)
        add(.call(size: size, epoch: epoch, call), keep: retention, for: engine)
    }

    /// Returns whether a callback may begin. Nil stands for callbacks that do not belong to a connection.
    private func mayBegin(_ epoch: CallbackEpochs.Epoch?) -> Bool { epoch.map { epochs.isLatest($0) } ?? true }

    private func use() {
        let isFirst = state.withLockedValue { state in
            defer { state.isUsed = true }
            return !state.isUsed
        }
        if isFirst { changes.raise() }
    }

    private func add(_ job: consuming Job, keep retention: Retention, for engine: ClientEngine) {
        guard let queue else { return }
        // The job is optional, so that the closure can take it. With a copy, two threads would change the reference
        // counts of the job's events.
        var job = Optional(job)
        // Release dropped jobs outside the lock, because releasing them may call the client.
        let (dropped, mustSchedule, mustWatch, mustAwait) = state.withLockedValue { state in
            let dropped = job.take().map { state.append($0, keep: retention, limit: budget.count) } ?? Dropped()
            defer { state.isScheduled = true }
            return (dropped, !state.isScheduled, !state.hasRun && state.watchdog == nil, state.level.isAwaited)
        }
        if mustWatch { watch() }
        noteDrop(of: dropped, for: engine)
        if mustSchedule { schedule(on: queue, for: engine) }
        if mustAwait { engine.pauseReading(for: self) }
    }

    private func noteDrop(of dropped: Dropped, for engine: ClientEngine) {
        // Dropped events without a callback do not count.
        let count = dropped.calls.count + dropped.events.count { $0.renewed().hasCallbacks(by: self) }
        guard count > 0 else { return }
        let (isFirst, isOver) = state.withLockedValue { state in
            let isFirst = state.droppedCount == 0
            state.droppedCount += count
            state.droppedInAll += count
            // If the queue has caught up meanwhile, it would report these drops only after another job.
            let isOver = !state.isScheduled
            defer { if isOver { state.droppedCount = 0 } }
            return (isFirst, isOver)
        }
        if isFirst { engine.callbacksDropped(.began) }
        if isOver { engine.callbacksDropped(.ended(count: count)) }
    }

    private func schedule(on queue: DispatchQueue, for engine: ClientEngine) {
        guard let work else { return queue.async { self.drain(queue, for: engine) } }
        work.begin("callbacks on the queue \(queue.label)") { piece in
            queue.async {
                self.drain(queue, for: engine)
                work.finish(piece)
            }
        }
    }

    /// Runs the jobs that are pending at the start, and leaves later jobs to another turn of the queue.
    private func drain(_ queue: DispatchQueue, for engine: ClientEngine) {
        let (count, watchdog) = state.withLockedValue { state in
            state.hasRun = true
            defer { state.watchdog = nil }
            return (state.count, state.watchdog)
        }
        watchdog?.cancel()
        var left = count
        var consumed = ConsumedEvents<EventBatch>()
        while left > 0, let (job, hasCaughtUp) = state.withLockedValue({ $0.takeFirst() }) {
            if hasCaughtUp { budget.total.tellCaughtUp() }
            left -= job.count
            switch job {
            case .events(let batch):
                run(batch)
                consumed.add(batch, count: batch.count, size: batch.size)
                if consumed.isFull { release(&consumed) }
            case .call(_, let epoch, let call):
                if mayBegin(epoch) { call() }
                runCount.wrappingIncrement(ordering: .relaxed)
            }
        }
        release(&consumed)
        let (mustGoOn, dropped) = state.withLockedValue { state in
            state.isScheduled = state.count > 0
            guard !state.isScheduled else { return (true, 0) }
            defer { state.droppedCount = 0 }
            return (false, state.droppedCount)
        }
        if dropped > 0, !isStopped { engine.callbacksDropped(.ended(count: dropped)) }
        if mustGoOn { schedule(on: queue, for: engine) }
    }

    private func run(_ batch: EventBatch) {
        batch.forEach { event, recipients in
            // If a callback binds another callback, the new callback gets the events that arrived meanwhile.
            if !recipients.isCurrent { recipients = recipients.renewed() }
            recipients.call(event, of: batch.epoch, by: self)
            runCount.wrappingIncrement(ordering: .relaxed)
        }
    }

    private func release(_ consumed: inout ConsumedEvents<EventBatch>) {
        if isStopped { _ = consumed.take() } else { consumed.release(on: eventLoop) }
    }

    // MARK: A queue that does not run

    private func watch() {
        let logger = logger
        let watchdog = eventLoop.scheduleTask(in: Self.patience) {
            guard !self.state.withLockedValue({ $0.hasRun }) else { return }
            logger.warning(
                """
                Callbacks wait for a queue that has not run for 5 s. A process without a main run loop never runs the \
                main queue. Call dispatchMain(), or choose another callbackQueue in PusherClientOptions and bind no \
                callbacks on the main actor.
                """
            )
        }
        let isLate = state.withLockedValue { state in
            if !state.hasRun { state.watchdog = watchdog }
            return state.hasRun
        }
        if isLate { watchdog.cancel() }
    }

    /// Cancels the timer of the warning. Afterwards, the dispatcher releases no events on the event loop.
    func stop() {
        let watchdog = state.withLockedValue { state in
            state.isStopped = true
            defer { state.watchdog = nil }
            return state.watchdog
        }
        watchdog?.cancel()
    }
}

extension CallbackDispatcher: AwaitedListener {
    var isAwaited: Bool { state.withLockedValue { $0.level.isAwaited } }

    var progress: Int { runCount.load(ordering: .relaxed) }

    func stopWaiting(isStalled: Bool, for engine: ClientEngine) {
        let dropped = state.withLockedValue { state in
            state.level.stopWaiting()
            let dropped = state.dropEvents()
            if !isStalled { state.level.reopen() }
            return dropped
        }
        noteDrop(of: dropped, for: engine)
    }
}

/// The jobs that were dropped.
private struct Dropped {
    var events = EventBatch()
    var calls: [CallbackDispatcher.Job] = []
}

extension CallbackDispatcher.State {
    /// Adds a job, and returns the jobs that were dropped because of it.
    fileprivate mutating func append(
        _ job: CallbackDispatcher.Job,
        keep retention: CallbackDispatcher.Retention,
        limit: Int
    ) -> Dropped {
        serial += 1
        let (count, size) = (job.count, job.size)
        let pending = CallbackDispatcher.Pending(serial: serial, job: job)
        switch retention {
        case .newest:
            events.append(pending)
            eventCount += count
            _ = level.add(size, count: count)
            return dropEvents()
        case .outcomes: return Self.append(pending, to: &outcomes, limit: limit)
        case .states: return Self.append(pending, to: &states, limit: limit)
        }
    }

    private static func append(
        _ pending: CallbackDispatcher.Pending,
        to jobs: inout CircularBuffer<CallbackDispatcher.Pending>,
        limit: Int
    ) -> Dropped {
        var dropped = Dropped()
        if jobs.count >= limit, let oldest = jobs.popFirst() { dropped.calls.append(oldest.job) }
        jobs.append(pending)
        return dropped
    }

    fileprivate var count: Int { eventCount + outcomes.count + states.count }

    /// Removes the events that the dispatcher must drop.
    fileprivate mutating func dropEvents() -> Dropped {
        var dropped = Dropped()
        while level.mustDrop, let oldest = events.popFirst() {
            eventCount -= oldest.job.count
            guard case .events(var batch) = oldest.job else {
                level.drop(oldest.job.size)
                dropped.calls.append(oldest.job)
                continue
            }
            while level.mustDrop, let (event, recipients) = batch.popFirst() {
                level.drop(event.size)
                dropped.events.append(event, recipients)
            }
            guard !batch.isEmpty else { continue }
            eventCount += batch.count
            events.prepend(CallbackDispatcher.Pending(serial: oldest.serial, job: .events(batch)))
        }
        return dropped
    }

    /// Removes the oldest job of all three buffers.
    fileprivate mutating func takeFirst() -> (job: CallbackDispatcher.Job, hasCaughtUp: Bool)? {
        let (event, outcome, change) = (serial(events), serial(outcomes), serial(states))
        if event < outcome, event < change {
            guard let job = events.popFirst()?.job else { return nil }
            let count = job.count
            eventCount -= count
            return (job, level.take(job.size, count: count))
        }
        return (outcome < change ? outcomes.popFirst() : states.popFirst()).map { ($0.job, false) }
    }

    /// Returns the serial of the first job; the maximum if there is no job.
    private func serial(_ jobs: CircularBuffer<CallbackDispatcher.Pending>) -> UInt64 { jobs.first?.serial ?? .max }
}

/// Events of one read, and their listeners.
private struct EventBatch: Sendable {
    /// Consecutive events with one recipients.
    private struct Run: Sendable {
        // All events share one reference. With one reference for each event, two threads would change the reference
        // count at the same time.
        var recipients: EventRecipients
        var count: Int
    }

    private var events: [PusherEvent] = []
    private var runs: [Run] = []
    private var recipients: ObjectIdentifier?
    /// The epoch of all events.
    var epoch = CallbackEpochs.Epoch()
    private(set) var size = 0

    var isEmpty: Bool { events.isEmpty }

    var count: Int { events.count }

    /// Adds an event after the others.
    mutating func append(_ event: PusherEvent, _ recipients: EventRecipients) {
        size += event.size
        events.append(event)
        if self.recipients == ObjectIdentifier(recipients) {
            runs[runs.count - 1].count += 1
        } else {
            self.recipients = ObjectIdentifier(recipients)
            runs.append(Run(recipients: recipients, count: 1))
        }
    }

    /// Reverses the events, so that removing the oldest event does not move the others. Call this method after the last
    /// `append`.
    mutating func close() {
        events.reverse()
        runs.reverse()
    }

    /// Removes the oldest event, after ``close()``.
    mutating func popFirst() -> (PusherEvent, EventRecipients)? {
        guard let event = events.popLast(), let run = runs.last else { return nil }
        size -= event.size
        if run.count == 1 { runs.removeLast() } else { runs[runs.count - 1].count -= 1 }
        return (event, run.recipients)
    }

    /// Calls a function with all events, the oldest first, after ``close()``.
    func forEach(_ body: (PusherEvent, inout EventRecipients) -> Void) {
        var index = events.count - 1
        var runIndex = runs.count - 1
        while runIndex >= 0 {
            var recipients = runs[runIndex].recipients
            for _ in 0..<runs[runIndex].count {
                body(events[index], &recipients)
                index -= 1
            }
            runIndex -= 1
        }
    }

    /// Returns the number of events whose recipients matches.
    func count(_ matches: (EventRecipients) -> Bool) -> Int {
        runs.reduce(0) { $0 + (matches($1.recipients) ? $1.count : 0) }
    }
}
