package import Dispatch
import NIOConcurrencyHelpers
package import NIOCore

/// The event loop of a simulated world. The world decides when work runs and when time passes.
///
/// The loop belongs to one thread. The thread is "on the loop" only while it runs the loop's work. In a real program,
/// the app's calls come from other threads.
package final class SimulatedEventLoop: EventLoop {
    private struct Entry: Sendable {
        var deadline: NIODeadline
        var serial: UInt64
        var isClient: Bool
        var body: @Sendable () -> Void
    }

    private struct State: Sendable {
        var now = NIODeadline.uptimeNanoseconds(0)
        var isInside = false
        var serial: UInt64 = 0
        /// The tasks in reverse order, with the next task last.
        var entries: [Entry] = []
        /// The work that the client would do if it were awake; nil while the client is awake.
        var sleeping: [Entry]?

        mutating func insert(
            _ deadline: NIODeadline,
            isClient: Bool,
            _ body: @escaping @Sendable () -> Void
        ) -> UInt64 {
            serial += 1
            let entry = Entry(deadline: max(deadline, now), serial: serial, isClient: isClient, body: body)
            if isClient, sleeping != nil { sleeping?.append(entry) } else { insert(entry) }
            return serial
        }

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
    }

    private let state = NIOLockedValueBox(State())

    package init() {}

    package var description: String { "SimulatedEventLoop" }
    package var inEventLoop: Bool { state.withLockedValue { $0.isInside } }
    package var now: NIODeadline { state.withLockedValue { $0.now } }

    package func execute(_ task: @escaping @Sendable () -> Void) {
        execute(isClient: false, task)
    }

    func execute(isClient: Bool, _ task: @escaping @Sendable () -> Void) {
        _ = state.withLockedValue { $0.insert($0.now, isClient: isClient, task) }
    }

    @discardableResult
    package func scheduleTask<Result>(
        deadline: NIODeadline,
        _ task: @escaping @Sendable () throws -> Result
    ) -> Scheduled<Result> {
        schedule(deadline, isClient: false, makePromise(of: Result.self), task)
    }

    func schedule<Result>(
        _ deadline: NIODeadline,
        isClient: Bool,
        _ promise: EventLoopPromise<Result>,
        _ task: @escaping @Sendable () throws -> Result
    ) -> Scheduled<Result> {
        let serial = state.withLockedValue { state in
            state.insert(deadline, isClient: isClient) {
                do { promise.assumeIsolated().succeed(try task()) } catch { promise.fail(error) }
            }
        }
        return Scheduled(promise: promise) { [weak self] in
            self?.state.withLockedValue { state in
                state.entries.removeAll { $0.serial == serial }
                state.sleeping?.removeAll { $0.serial == serial }
            }
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

    /// The time of the next task; nil if there is none.
    var nextDeadline: NIODeadline? { state.withLockedValue { $0.entries.last?.deadline } }

    /// Whether a task is due now.
    var hasWork: Bool {
        state.withLockedValue { state in state.entries.last.map { $0.deadline <= state.now } ?? false }
    }

    /// Runs the next task, if it is due now.
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

    /// Removes all work.
    func removeAll() {
        let entries = state.withLockedValue { state in
            defer { (state.entries, state.sleeping) = ([], nil) }
            return state.entries + (state.sleeping ?? [])
        }
        // The objects of the removed work are released outside the lock.
        withExtendedLifetime(entries) {}
    }

    // MARK: The client's sleep

    var isAsleep: Bool { state.withLockedValue { $0.sleeping != nil } }

    /// Stops the work of the client.
    func fallAsleep() {
        state.withLockedValue { state in
            guard state.sleeping == nil else { return }
            state.sleeping = state.entries.filter(\.isClient)
            state.entries.removeAll(where: \.isClient)
        }
    }

    /// Continues the work of the client.
    ///
    /// - Parameter pause: The time for which the client's timers stopped; zero if they are only late.
    func wake(after pause: TimeAmount) {
        state.withLockedValue { state in
            let entries = state.sleeping ?? []
            state.sleeping = nil
            for var entry in entries {
                entry.deadline = max(entry.deadline + pause, state.now)
                state.insert(entry)
            }
        }
    }

    /// Runs a closure on the loop.
    func inside<Result>(_ body: () -> Result) -> Result {
        state.withLockedValue { $0.isInside = true }
        defer { state.withLockedValue { $0.isInside = false } }
        return body()
    }

    /// Advances the time without running due work.
    func setNow(_ deadline: NIODeadline) {
        state.withLockedValue { $0.now = max($0.now, deadline) }
    }
}

/// The client's view of the loop. The client's work stops while the client sleeps.
final class ClientEventLoop: EventLoop {
    private let loop: SimulatedEventLoop

    init(_ loop: SimulatedEventLoop) { self.loop = loop }

    var description: String { "ClientEventLoop" }
    var inEventLoop: Bool { loop.inEventLoop }
    var now: NIODeadline { loop.now }

    func execute(_ task: @escaping @Sendable () -> Void) { loop.execute(isClient: true, task) }

    @discardableResult
    func scheduleTask<Result>(
        deadline: NIODeadline,
        _ task: @escaping @Sendable () throws -> Result
    ) -> Scheduled<Result> {
        loop.schedule(deadline, isClient: true, makePromise(of: Result.self), task)
    }

    @discardableResult
    func scheduleTask<Result>(
        in delay: TimeAmount,
        _ task: @escaping @Sendable () throws -> Result
    ) -> Scheduled<Result> {
        scheduleTask(deadline: now + delay, task)
    }

    func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
        loop.shutdownGracefully(queue: queue, callback)
    }
}
