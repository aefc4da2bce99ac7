import Dispatch
import Logging
import NIOConcurrencyHelpers
import NIOCore
import PusherClient
import RealtimeNetworking
import RealtimePrimitives

/// The part of virtual time that decides when work runs, and when the time moves.
///
/// It works in passes. A pass runs the loop's work that is due, and then begins the app's next piece of work. Each pass
/// goes through the main queue. So the work that is already on the main queue, including jobs of the main actor, runs
/// before the pass. When two consecutive passes find nothing to do, everything is at rest, and the time may move.
final class VirtualScheduler: Sendable {
    private struct Wait: Sendable {
        var id: UInt64
        var deadline: NIODeadline
        var continuation: CheckedContinuation<Void, Never>
        /// The wait of the task.
        var wait: AppWork.Wait
    }

    private struct State: Sendable {
        var isScheduled = false
        var waits: [Wait] = []
        /// The number of waits of the clock.
        var sleeperCount = 0
        var lastWait: UInt64 = 0
        /// The changes that were known when a pass found nothing to do; nil if the last pass did something.
        var quiet: Changes?
        /// The changes that were known when work was blocked, and the number of passes since then.
        var blocked: (changes: Changes, passes: Int)?
    }

    private struct Changes: Hashable, Sendable {
        var loop: UInt64
        var work: Int
    }

    /// The number of passes that work waits for other work which does not come to rest. The other work may wait for the
    /// work that waits.
    private static let patience = 2_000
    /// The real time after which a log line names the work that does not come to rest.
    private static let slowness = DispatchTimeInterval.seconds(10)

    let loop: VirtualEventLoop
    let work: AppWork
    private let state = NIOLockedValueBox(State())
    private let logger: Logger
    private let start = ContinuousClock.now

    init(logger: Logger) {
        self.logger = logger
        let owner = Owner()
        loop = VirtualEventLoop { owner.wake() }
        work = AppWork { owner.wake() }
        owner.scheduler.withLockedValue { $0 = WeakScheduler(value: self) }
    }

    /// The way from the loop and the work to the scheduler, which holds both.
    private final class Owner: Sendable {
        let scheduler = NIOLockedValueBox(WeakScheduler(value: nil))

        func wake() { scheduler.withLockedValue { $0.value }?.wake() }
    }

    private struct WeakScheduler: Sendable {
        weak let value: VirtualScheduler?
    }

    var elapsed: Duration { .nanoseconds(Int64(clamping: loop.now.uptimeNanoseconds)) }

    var now: ContinuousClock.Instant { start + elapsed }

    var sleeperCount: Int { state.withLockedValue { $0.sleeperCount } }

    // MARK: Waiting

    /// Waits until the time has reached the deadline.
    func sleep(until deadline: ContinuousClock.Instant) async throws {
        try Task.checkCancellation()
        let sleeper = NIOLockedValueBox<CheckedContinuation<Void, any Error>?>(nil)
        let timer = NIOLockedValueBox<Scheduled<Void>?>(nil)
        @Sendable func take() -> CheckedContinuation<Void, any Error>? {
            sleeper.withLockedValue { sleeper in
                defer { sleeper = nil }
                return sleeper
            }
        }
        let wait = work.makeWait()
        defer {
            state.withLockedValue { $0.sleeperCount -= 1 }
            timer.withLockedValue { $0 }?.cancel()
            wait.ended()
        }
        try await withCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                sleeper.withLockedValue { $0 = continuation }
                // A cancellation before this line did not find the sleeper.
                if Task.isCancelled { take()?.resume(throwing: CancellationError()) }
                let delay = TimeAmount(clamping: start.duration(to: deadline))
                let wakeUp = loop.scheduleTask(deadline: .uptimeNanoseconds(0).advanced(clamping: delay)) {
                    if let sleeper = take() { wait.end { sleeper.resume() } }
                }
                // The timer fails at the end of the virtual time.
                wakeUp.futureResult.whenFailure { _ in take()?.resume(throwing: CancellationError()) }
                timer.withLockedValue { $0 = wakeUp }
                state.withLockedValue { $0.sleeperCount += 1 }
                wait.began()
            }
        } onCancel: {
            take()?.resume(throwing: CancellationError())
        }
    }

    /// Waits until everything is at rest, and the time has moved by the duration. Returns at once if the task is
    /// cancelled.
    func advance(by duration: TimeAmount) async {
        let wait = work.makeWait()
        let id = state.withLockedValue { state in
            state.lastWait += 1
            return state.lastWait
        }
        await withCancellationHandler {
            await withCheckedContinuation { continuation in
                let deadline = loop.now.advanced(clamping: duration)
                state.withLockedValue { state in
                    state.waits.append(Wait(id: id, deadline: deadline, continuation: continuation, wait: wait))
                }
                // A cancellation before this line did not find the wait.
                if Task.isCancelled { cancel(id) }
                wait.began()
                watch(id)
                wake()
            }
        } onCancel: {
            cancel(id)
        }
        wait.ended()
    }

    private func cancel(_ id: UInt64) {
        let wait = state.withLockedValue { state in
            state.waits.firstIndex { $0.id == id }.map { state.waits.remove(at: $0) }
        }
        guard let wait else { return }
        let names = work.runningNames
        if !names.isEmpty { logger.warning("A wait in virtual time was cancelled. \(Self.unfinished(names))") }
        wait.continuation.resume()
    }

    /// Logs the work that does not come to rest. The log does not end the wait.
    private func watch(_ id: UInt64) {
        loop.queue.asyncAfter(deadline: .now() + Self.slowness) { [weak self] in
            guard let self, state.withLockedValue({ $0.waits.contains { $0.id == id } }) else { return }
            let names = work.runningNames
            if names.isEmpty { return watch(id) }
            logger.warning("Virtual time stands still. \(Self.unfinished(names))")
        }
    }

    private static func unfinished(_ names: [String]) -> String {
        """
        This work has not come to rest: \(names.joined(separator: ", ")). Let it wait with the clock of VirtualTime, or \
        with calls of the client, instead of for something that only a later time brings.
        """
    }

    // MARK: Passes

    /// Begins a pass, in a later turn of the main queue.
    private func wake() {
        let mustSchedule = state.withLockedValue { state in
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if mustSchedule { DispatchQueue.main.async { self.loop.queue.async { self.pass() } } }
    }

    private func pass() {
        state.withLockedValue { $0.isScheduled = false }
        loop.runDue()
        while work.beginNext() {}
        if work.isBlocked { return passBlocked() }
        let changes = changes
        guard work.isAtRest, !isDue else { return state.withLockedValue { $0.quiet = nil } }
        let isSettled = state.withLockedValue { state in
            defer { state.quiet = changes }
            return state.quiet == changes
        }
        if isSettled {
            moveTime()
        } else if state.withLockedValue({ !$0.waits.isEmpty }) {
            wake()
        }
    }

    private var changes: Changes { Changes(loop: loop.addedCount, work: work.changeCount) }

    private var isDue: Bool { loop.nextDeadline.map { $0 <= loop.now } ?? false }

    /// Lets the work that runs come to rest, for a number of passes. Each of these passes also goes through the tasks of
    /// the default executor.
    private func passBlocked() {
        let changes = changes
        let mustForce = state.withLockedValue { state in
            if state.blocked?.changes == changes {
                state.blocked?.passes += 1
            } else {
                state.blocked = (changes, 0)
            }
            return state.blocked.map { $0.passes > Self.patience } ?? false
        }
        if mustForce { _ = work.beginNext(isForced: true) }
        Task.detached(priority: .low) { self.wake() }
    }

    /// Moves the time to the next timer, or to the end of the first wait.
    private func moveTime() {
        let first = state.withLockedValue { state in state.waits.min { $0.deadline < $1.deadline } }
        guard let first else { return }
        state.withLockedValue { $0.quiet = nil }
        if let next = loop.nextDeadline, next <= first.deadline {
            loop.setNow(next)
            return wake()
        }
        loop.setNow(first.deadline)
        let isWaiting = state.withLockedValue { state in
            let count = state.waits.count
            state.waits.removeAll { $0.id == first.id }
            return state.waits.count < count
        }
        if isWaiting { first.wait.end { first.continuation.resume() } }
        wake()
    }

    // MARK: The end

    /// Ends all waits. From now on, work runs as soon as it is due, and timers do not run.
    func end() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            loop.execute { continuation.resume() }
        }
        loop.end()
        let waits = state.withLockedValue { state in
            defer { state.waits = [] }
            return state.waits
        }
        for wait in waits { wait.continuation.resume() }
        work.end()
        wake()
    }
}
