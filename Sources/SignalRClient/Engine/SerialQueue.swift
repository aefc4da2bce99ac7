import NIOConcurrencyHelpers

/// Runs jobs of the app one after the other. The queue has a task only while it has jobs.
///
/// The client receives messages while a job runs, so a job can call the server and wait for the answer.
package final class SerialQueue: Sendable {
    package typealias Job = @Sendable () async -> Void

    private struct State {
        var jobs: [(size: Int, run: Job)] = []
        var size = 0
        /// The part of `size` that belongs to work outside the queue.
        var reserved = 0
        /// The part of `size` that the running jobs have passed on to such work.
        var passedOn = 0
        var isRunning = false
    }

    private let limit: Int
    private let state = NIOLockedValueBox(State())

    /// - Parameter limit: The maximum total size of the waiting and running jobs, and of the reservations. If no job
    ///   waits, and nothing is reserved, the queue accepts a job of any size.
    package init(limit: Int) { self.limit = limit }

    /// Adds a job. Returns whether the queue accepted the job.
    package func add(size: Int = 1, _ job: @escaping Job) -> Bool {
        let (isAdded, mustStart) = state.withLockedValue { state in
            guard state.size + size <= limit || (state.jobs.isEmpty && state.reserved == 0) else {
                return (false, false)
            }
            state.jobs.append((size, job))
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
            state.passedOn += size
        }
    }

    /// Ends a reservation.
    package func release(_ size: Int) {
        state.withLockedValue { state in
            state.size -= size
            state.reserved -= size
        }
    }

    private func run() async {
        while let jobs = take() {
            for job in jobs { await job.run() }
            state.withLockedValue { state in
                state.size -= jobs.reduce(0) { $0 + $1.size } - state.passedOn
                state.passedOn = 0
            }
        }
    }

    /// Removes all waiting jobs at once, to take the lock only once for a burst of messages.
    private func take() -> [(size: Int, run: Job)]? {
        state.withLockedValue { state in
            defer { state.jobs = [] }
            if state.jobs.isEmpty { state.isRunning = false }
            return state.jobs.isEmpty ? nil : state.jobs
        }
    }
}
