package import Dispatch
import NIOConcurrencyHelpers
package import NIOCore

/// The event loop of a simulated world. Nothing runs but when the world says so, and time passes only then.
///
/// It belongs to one thread, which is "on the loop" only while it runs what the loop was given: calls of the
/// application come from elsewhere, as they do in a real program.
package final class SimulatedEventLoop: EventLoop {
    private struct Entry: Sendable {
        var deadline: NIODeadline
        var serial: UInt64
        var body: @Sendable () -> Void
    }

    private struct State: Sendable {
        var now = NIODeadline.uptimeNanoseconds(0)
        var isInside = false
        var serial: UInt64 = 0
        /// In the order in which they are due, the next one last.
        var entries: [Entry] = []

        mutating func insert(_ deadline: NIODeadline, _ body: @escaping @Sendable () -> Void) -> UInt64 {
            serial += 1
            let entry = Entry(deadline: max(deadline, now), serial: serial, body: body)
            var (low, high) = (0, entries.count)
            while low < high {
                let middle = (low + high) / 2
                if entries[middle].deadline > entry.deadline { low = middle + 1 } else { high = middle }
            }
            entries.insert(entry, at: low)
            return serial
        }
    }

    private let state = NIOLockedValueBox(State())

    package init() {}

    package var description: String { "SimulatedEventLoop" }
    package var inEventLoop: Bool { state.withLockedValue { $0.isInside } }
    package var now: NIODeadline { state.withLockedValue { $0.now } }

    package func execute(_ task: @escaping @Sendable () -> Void) {
        _ = state.withLockedValue { $0.insert($0.now, task) }
    }

    @discardableResult
    package func scheduleTask<Result>(
        deadline: NIODeadline,
        _ task: @escaping @Sendable () throws -> Result
    ) -> Scheduled<Result> {
        let promise = makePromise(of: Result.self)
        let serial = state.withLockedValue { state in
            state.insert(deadline) {
                do { promise.assumeIsolated().succeed(try task()) } catch { promise.fail(error) }
            }
        }
        return Scheduled(promise: promise) { [weak self] in
            self?.state.withLockedValue { $0.entries.removeAll { $0.serial == serial } }
        }
    }

    @discardableResult
    package func scheduleTask<Result>(
        in delay: TimeAmount,
        _ task: @escaping @Sendable () throws -> Result
    ) -> Scheduled<Result> {
        scheduleTask(deadline: now + delay, task)
    }

    package func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
        queue.async { callback(nil) }
    }

    // MARK: For the world

    /// When the next task is due; nil where there is none.
    var nextDeadline: NIODeadline? { state.withLockedValue { $0.entries.last?.deadline } }

    /// Whether a task is due now.
    var hasWork: Bool {
        state.withLockedValue { state in state.entries.last.map { $0.deadline <= state.now } ?? false }
    }

    /// Runs the task that is due next, if it is due now.
    func runNext() {
        let entry = state.withLockedValue { state -> Entry? in
            guard let next = state.entries.last, next.deadline <= state.now else { return nil }
            state.isInside = true
            return state.entries.removeLast()
        }
        guard let entry else { return }
        entry.body()
        state.withLockedValue { $0.isInside = false }
    }

    /// Nothing will be run any more.
    func removeAll() {
        let entries = state.withLockedValue { state in
            defer { state.entries = [] }
            return state.entries
        }
        // What they hold is let go outside the lock.
        withExtendedLifetime(entries) {}
    }

    /// Makes calls on the loop.
    func inside<Result>(_ body: () -> Result) -> Result {
        state.withLockedValue { $0.isInside = true }
        defer { state.withLockedValue { $0.isInside = false } }
        return body()
    }

    /// Time passes; what is due then is not run yet.
    func setNow(_ deadline: NIODeadline) {
        state.withLockedValue { $0.now = max($0.now, deadline) }
    }
}
