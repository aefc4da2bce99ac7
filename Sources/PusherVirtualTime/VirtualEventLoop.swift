package import Dispatch
import NIOConcurrencyHelpers
package import NIOCore

/// An event loop in virtual time.
///
/// Work that is due runs by itself, on a queue. The time moves only when ``VirtualScheduler`` sets it.
package final class VirtualEventLoop: EventLoop {
    private struct Entry: Sendable {
        var deadline: NIODeadline
        var serial: UInt64
        var run: @Sendable () -> Void
        /// Reports that the task will not run.
        var cancel: @Sendable () -> Void
    }

    private struct State: Sendable {
        var now = NIODeadline.uptimeNanoseconds(0)
        var isInside = false
        var serial: UInt64 = 0
        /// The tasks in reverse order, with the next task last.
        var entries: [Entry] = []
        var hasEnded = false

        mutating func insert(_ entry: Entry) {
            var (low, high) = (0, entries.count)
            while low < high {
                let middle = (low + high) / 2
                let other = entries[middle]
                let isLater = (other.deadline, other.serial) > (entry.deadline, entry.serial)
                if isLater { low = middle + 1 } else { high = middle }
            }
            entries.insert(entry, at: low)
        }

        mutating func takeDue() -> Entry? {
            guard let next = entries.last, next.deadline <= now else { return nil }
            isInside = true
            return entries.removeLast()
        }
    }

    private static let key = DispatchSpecificKey<ObjectIdentifier>()

    /// The queue on which the work runs.
    let queue = DispatchQueue(label: "pusher.virtual-time")
    private let state = NIOLockedValueBox(State())
    private let onWork: @Sendable () -> Void

    /// - Parameter onWork: A closure that is called on any thread after work was added.
    init(onWork: @escaping @Sendable () -> Void) {
        self.onWork = onWork
        queue.setSpecific(key: Self.key, value: ObjectIdentifier(self))
    }

    package var description: String { "VirtualEventLoop" }

    package var inEventLoop: Bool {
        DispatchQueue.getSpecific(key: Self.key) == ObjectIdentifier(self) && state.withLockedValue { $0.isInside }
    }

    package var now: NIODeadline { state.withLockedValue { $0.now } }

    package func execute(_ task: @escaping @Sendable () -> Void) {
        _ = insert(nil, run: task, cancel: {})
        onWork()
    }

    @discardableResult
    package func scheduleTask<Result>(
        deadline: NIODeadline,
        _ task: @escaping @Sendable () throws -> Result
    ) -> Scheduled<Result> {
        let promise = makePromise(of: Result.self)
        let serial = insert(
            deadline,
            run: { do { promise.assumeIsolated().succeed(try task()) } catch { promise.fail(error) } },
            cancel: { promise.fail(EventLoopError.cancelled) }
        )
        onWork()
        return Scheduled(promise: promise) { [weak self] in
            // Release the task outside the lock, because releasing it may call the client.
            _ = self?.state.withLockedValue { state in
                state.entries.firstIndex { $0.serial == serial }.map { state.entries.remove(at: $0) }
            }
        }
    }

    @discardableResult
    package func scheduleTask<Result>(
        in delay: TimeAmount,
        _ task: @escaping @Sendable () throws -> Result
    ) -> Scheduled<Result> {
        scheduleTask(deadline: now.advanced(clamping: delay), task)
    }

    package func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
        queue.async { callback(nil) }
    }

    /// - Parameter deadline: Nil for work that is due now. The loop runs such work even after its end.
    private func insert(
        _ deadline: NIODeadline?,
        run: @escaping @Sendable () -> Void,
        cancel: @escaping @Sendable () -> Void
    ) -> UInt64 {
        let serial: UInt64? = state.withLockedValue { state in
            if state.hasEnded, let deadline, deadline > state.now { return nil }
            state.serial += 1
            let deadline = max(deadline ?? state.now, state.now)
            state.insert(Entry(deadline: deadline, serial: state.serial, run: run, cancel: cancel))
            return state.serial
        }
        if serial == nil { cancel() }
        return serial ?? 0
    }

    // MARK: For the scheduler

    /// The time of the next task; nil if there is none.
    var nextDeadline: NIODeadline? { state.withLockedValue { $0.entries.last?.deadline } }

    /// A number that rises with each added task.
    var addedCount: UInt64 { state.withLockedValue { $0.serial } }

    /// Runs the work that is due now, and the work that it adds. Call this method on the loop's queue.
    func runDue() {
        while let entry = state.withLockedValue({ $0.takeDue() }) {
            entry.run()
            state.withLockedValue { $0.isInside = false }
        }
    }

    /// Moves the time.
    func setNow(_ deadline: NIODeadline) { state.withLockedValue { $0.now = max($0.now, deadline) } }

    /// Cancels all timers. From now on, the loop cancels new timers at once.
    func end() {
        let timers = state.withLockedValue { state in
            state.hasEnded = true
            let timers = state.entries.filter { $0.deadline > state.now }
            state.entries.removeAll { $0.deadline > state.now }
            return timers
        }
        for timer in timers { timer.cancel() }
    }
}

extension NIODeadline {
    /// Returns a later time; the last possible time if there is an overflow.
    func advanced(clamping delay: TimeAmount) -> NIODeadline {
        let last = UInt64(Int64.max)
        guard delay > .zero else { return self }
        let (sum, hasOverflow) = uptimeNanoseconds.addingReportingOverflow(UInt64(delay.nanoseconds))
        return .uptimeNanoseconds(hasOverflow ? last : min(sum, last))
    }
}
