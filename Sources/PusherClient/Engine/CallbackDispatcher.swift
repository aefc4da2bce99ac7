import Atomics
import Dispatch
import Logging
import NIOConcurrencyHelpers
import NIOCore

/// Runs user code where the options say, in order, and never more of it than the limit.
final class CallbackDispatcher: Sendable {
    enum Job: Sendable {
        /// Whatever is bound to the event by the time that it runs. Code that binds in the callback of an event gets
        /// those that came meanwhile.
        case event(PusherEvent, Audience)
        case call(@Sendable () -> Void)
    }

    private func run(_ job: Job) {
        switch job {
        case .event(let event, let audience):
            audience.renewed().call(event, by: self)
        case .call(let call):
            call()
        }
    }

    /// False where nobody would have been called.
    private func isMissed(_ job: Job) -> Bool {
        switch job {
        case .event(_, let audience): audience.renewed().hasCallbacks(by: self)
        case .call: true
        }
    }

    /// What a job takes, in bytes.
    private static func size(of job: Job) -> Int {
        switch job {
        case .event(let event, _): event.size
        case .call: 256
        }
    }

    /// Whether callbacks run while the event loop waits.
    var runsInPlace: Bool { queue == nil }

    /// True while callbacks run, or wait for their queue. Called on the event loop.
    var isBusy: Bool { !collected.value.isEmpty || state.withLockedValue { $0.isScheduled } }

    /// Whether a callback ever had to wait for the queue.
    var isUsed: Bool { used.load(ordering: .acquiring) }

    private func use() {
        guard !isUsed else { return }
        used.store(true, ordering: .releasing)
        changes.raise()
    }

    /// How many callbacks had to go so far, because the queue was slower than they came.
    var droppedCount: Int { state.withLockedValue { $0.droppedInAll } }

    /// What has to become of a job that waits for a queue that is too slow.
    enum Retention: Sendable {
        /// The oldest goes when there are too many. For whatever a server can cause as often as it likes.
        case newest
        /// The same, where there are too many of its own kind alone: the outcome of a subscription, and that callbacks
        /// were dropped.
        case outcomes
        /// The same for changes of the connection's state: whoever is told too few of them is told the last.
        case states
    }

    enum Drop: Sendable {
        case began
        /// The queue has caught up; so many jobs are lost.
        case ended(count: Int)
    }

    fileprivate struct Pending {
        let serial: UInt64
        let job: Job
    }

    fileprivate struct State {
        fileprivate var events = Self.empty
        fileprivate var level: BufferLevel
        fileprivate var outcomes = Self.empty
        fileprivate var states = Self.empty
        // Shared by all, until they have a job: most clients never have one in most of theirs.
        private static let empty = CircularBuffer<Pending>(initialCapacity: 1)
        fileprivate var serial: UInt64 = 0
        /// Since the queue last had caught up.
        var droppedCount = 0
        var droppedInAll = 0
        var isScheduled = false
        var hasRun = false
        var watchdog: Scheduled<Void>?
    }

    /// How many jobs the queue takes at a time.
    private static let chunk = 64

    /// How long a queue may leave the first callback alone before the log says so.
    static let patience = TimeAmount.seconds(5)

    /// Nil where callbacks run in place.
    private let queue: DispatchQueue?
    private let budget: BufferBudget
    private let eventLoop: any EventLoop
    private let logger: Logger
    private let state: NIOLockedValueBox<State>
    /// How many callbacks have run.
    private let runCount = ManagedAtomic(0)
    /// What goes to the queue with the next ``submit(for:)``: one step over for all that one read brings.
    private let collected: NIOLoopBoundBox<[Job]>
    private let used = ManagedAtomic(false)
    private let changes: ChangeCount

    init(
        queue: PusherClientOptions.CallbackQueue,
        _ budget: BufferBudget,
        eventLoop: any EventLoop,
        logger: Logger,
        changes: ChangeCount
    ) {
        self.changes = changes
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
        collected = .makeBoxSendingValue([], eventLoop: eventLoop)
    }

    /// Adds an event. The caller calls ``submit(for:)`` when it has added all. Called on the event loop.
    func collect(_ event: PusherEvent, _ audience: Audience) {
        use()
        collected.value.append(.event(event, audience))
    }

    /// Hands over what was collected. Called on the event loop.
    func submit(for engine: ClientEngine) {
        guard !collected.value.isEmpty else { return }
        var jobs: [Job] = []
        swap(&jobs, &collected.value)
        add(jobs, keep: .newest, for: engine)
    }

    /// Called on the event loop.
    ///
    /// - Parameter engine: Who is told when a slow queue begins to cost jobs, and when it has caught up. It is there for
    ///   as long as something waits for the queue.
    func enqueue(_ job: Job, keep retention: Retention = .newest, for engine: ClientEngine) {
        guard !runsInPlace else { return run(job) }
        submit(for: engine)
        add([job], keep: retention, for: engine)
    }

    private func add(_ jobs: [Job], keep retention: Retention, for engine: ClientEngine) {
        guard let queue else { return }
        use()
        // What is dropped is released outside the lock.
        var dropped: [Job] = []
        let (mustSchedule, mustWatch, mustAwait) = state.withLockedValue { state in
            for job in jobs {
                if let oldest = state.append(job, keep: retention, limit: budget.count) { dropped.append(oldest) }
            }
            dropped += state.dropEvents()
            defer { state.isScheduled = true }
            return (!state.isScheduled, !state.hasRun && state.watchdog == nil, state.level.isAwaited)
        }
        if mustWatch { watch() }
        noteDrop(of: dropped, for: engine)
        if mustSchedule { queue.async { self.drain(queue, for: engine) } }
        if mustAwait { engine.awaitListener(self) }
    }

    private func noteDrop(of jobs: [Job], for engine: ClientEngine) {
        for job in jobs where isMissed(job) { noteDrop(for: engine) }
    }

    private func noteDrop(for engine: ClientEngine) {
        let (isFirst, isOver) = state.withLockedValue { state in
            state.droppedCount += 1
            state.droppedInAll += 1
            // The queue may have caught up since, and would say nothing of this one before it has another job.
            let isOver = !state.isScheduled
            defer { if isOver { state.droppedCount = 0 } }
            return (state.droppedCount == 1, isOver)
        }
        if isFirst { engine.callbacksDropped(.began) }
        if isOver { engine.callbacksDropped(.ended(count: 1)) }
    }

    /// Runs what was pending when it began, and leaves the rest to another turn of the queue.
    private func drain(_ queue: DispatchQueue, for engine: ClientEngine) {
        let (count, watchdog) = state.withLockedValue { state in
            state.hasRun = true
            defer { state.watchdog = nil }
            return (state.count, state.watchdog)
        }
        watchdog?.cancel()
        var left = count
        while left > 0 {
            let (jobs, hasCaughtUp) = state.withLockedValue { $0.take(min(left, Self.chunk)) }
            if hasCaughtUp { budget.total.tellCaughtUp() }
            for job in jobs {
                run(job)
                runCount.wrappingIncrement(ordering: .relaxed)
            }
            left = jobs.isEmpty ? 0 : left - jobs.count
        }
        let (mustGoOn, dropped) = state.withLockedValue { state in
            state.isScheduled = state.count > 0
            guard !state.isScheduled else { return (true, 0) }
            defer { state.droppedCount = 0 }
            return (false, state.droppedCount)
        }
        if dropped > 0 { engine.callbacksDropped(.ended(count: dropped)) }
        if mustGoOn { queue.async { self.drain(queue, for: engine) } }
    }

    // MARK: A queue that does not run

    private func watch() {
        let logger = logger
        let watchdog = eventLoop.scheduleTask(in: Self.patience) {
            guard !self.state.withLockedValue({ $0.hasRun }) else { return }
            logger.warning(
                """
                Callbacks wait for a queue that has not run for 5 s. A process without a main run loop never runs the \
                main queue: call dispatchMain(); or choose another callbackQueue in PusherClientOptions, and do not bind \
                on the main actor.
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

extension CallbackDispatcher.State {
    /// The job that had to go for it, if one had.
    fileprivate mutating func append(
        _ job: CallbackDispatcher.Job,
        keep retention: CallbackDispatcher.Retention,
        limit: Int
    ) -> CallbackDispatcher.Job? {
        serial += 1
        let pending = CallbackDispatcher.Pending(serial: serial, job: job)
        switch retention {
        case .newest:
            events.append(pending)
            _ = level.add(CallbackDispatcher.size(of: job))
            return nil
        case .outcomes: return Self.append(pending, to: &outcomes, limit: limit)
        case .states: return Self.append(pending, to: &states, limit: limit)
        }
    }

    private static func append(
        _ pending: CallbackDispatcher.Pending,
        to jobs: inout CircularBuffer<CallbackDispatcher.Pending>,
        limit: Int
    ) -> CallbackDispatcher.Job? {
        let dropped = jobs.count >= limit ? jobs.popFirst()?.job : nil
        jobs.append(pending)
        return dropped
    }

    fileprivate var count: Int { events.count + outcomes.count + states.count }

    /// Takes out the events that have to go.
    fileprivate mutating func dropEvents() -> [CallbackDispatcher.Job] {
        var dropped: [CallbackDispatcher.Job] = []
        while level.mustDrop, let oldest = events.popFirst()?.job {
            level.drop(CallbackDispatcher.size(of: oldest))
            dropped.append(oldest)
        }
        return dropped
    }

    /// Takes out the oldest, up to this number.
    fileprivate mutating func take(_ count: Int) -> (jobs: [CallbackDispatcher.Job], hasCaughtUp: Bool) {
        var (jobs, hasCaughtUp) = ([CallbackDispatcher.Job](), false)
        while jobs.count < count, let job = next(&hasCaughtUp) { jobs.append(job) }
        return (jobs, hasCaughtUp)
    }

    /// The oldest of the first ones.
    private mutating func next(_ hasCaughtUp: inout Bool) -> CallbackDispatcher.Job? {
        let (event, outcome, change) = (serial(events), serial(outcomes), serial(states))
        if event < outcome, event < change {
            guard let job = events.popFirst()?.job else { return nil }
            if level.take(CallbackDispatcher.size(of: job)) { hasCaughtUp = true }
            return job
        }
        return outcome < change ? outcomes.popFirst()?.job : states.popFirst()?.job
    }

    /// That of the first one; one that never comes where there is none.
    private func serial(_ jobs: CircularBuffer<CallbackDispatcher.Pending>) -> UInt64 { jobs.first?.serial ?? .max }
}
