import NIOConcurrencyHelpers
import NIOCore

/// Runs jobs of the app one after the other. The queue has a task only while it has jobs.
///
/// The client receives messages while a job runs, so a job can call the server and wait for the answer.
package final class SerialQueue: Sendable {
    package typealias Job = @Sendable () async -> Void

    private struct Entry: Sendable {
        var size: Int
        var run: Job
    }

    private struct State: Sendable {
        var entries = CircularBuffer<Entry>()
        var size = 0
        /// The size of the running job; zero after the job has passed its space on to work outside the queue.
        var runningSize = 0
        /// The part of `size` that belongs to work outside the queue.
        var reserved = 0
        var isRunning = false
    }

    private let limit: Int
    private let state = NIOLockedValueBox(State())

    /// - Parameter limit: The maximum total size of the waiting and running jobs, and of the reservations. If no job
    ///   waits, and nothing is reserved, the queue accepts a job of any size. It always accepts jobs of size 0.
    package init(limit: Int) { self.limit = limit }

    /// Adds a job. Returns whether the queue accepted the job.
    package func add(size: Int = 1, _ job: @escaping Job) -> Bool {
        let (isAdded, mustStart) = state.withLockedValue { state in
            guard size == 0 || state.size + size <= limit || (state.entries.isEmpty && state.reserved == 0) else {
                return (false, false)
            }
            state.entries.append(Entry(size: size, run: job))
            state.size += size
            defer { state.isRunning = true }
            return (true, !state.isRunning)
        }
        if mustStart { Task { await run() } }
        return isAdded
    }

    /// Keeps the space of the running job for work that continues after the job.
    package func reserve(_ size: Int) {
        state.withLockedValue { state in
            state.reserved += size
            state.runningSize -= size
        }
    }

    /// Ends a reservation.
    package func release(_ size: Int) {
        state.withLockedValue { state in
            state.size -= size
            state.reserved -= size
        }
    }

    private func run() async { while let job = next() { await job() } }

    /// Gives back the space of the job that has ended, and returns the next job.
    private func next() -> Job? {
        state.withLockedValue { state in
            state.size -= state.runningSize
            let entry = state.entries.popFirst()
            state.runningSize = entry?.size ?? 0
            state.isRunning = entry != nil
            return entry?.run
        }
    }
}
