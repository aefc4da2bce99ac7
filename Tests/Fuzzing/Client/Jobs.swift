import Foundation
import NIOConcurrencyHelpers

/// Runs tasks when it is told to, on the thread that tells it, in the order in which they became ready: so that the
/// same input does the same each time, and everything is on the one thread that `EmbeddedEventLoop` allows.
///
/// The concurrency runtime has a hook for that. There is no other way to have tasks that no executor of ours was named
/// for.
enum Jobs {
    private typealias Original = @convention(thin) (UnownedJob) -> Void
    private typealias Hook = @convention(thin) (UnownedJob, Original) -> Void

    private static let ready = NIOLockedValueBox<[UnownedJob]>([])
    private static let executor = Executor()

    private final class Executor: SerialExecutor {
        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            Jobs.ready.withLockedValue { $0.append(job) }
        }
    }

    /// Whether the hook is in place: at the first look it is put there.
    static let areOurs: Bool = {
        guard let symbol = dlsym(nil, "swift_task_enqueueGlobal_hook") else { return false }
        symbol.assumingMemoryBound(to: Hook?.self).pointee = { job, _ in
            Jobs.ready.withLockedValue { $0.append(job) }
        }
        return true
    }()

    /// Runs what is ready, and what becomes so; false where there was nothing.
    static func run() -> Bool {
        var hasRun = false
        while true {
            let jobs = ready.withLockedValue { jobs in
                defer { jobs = [] }
                return jobs
            }
            guard !jobs.isEmpty else { return hasRun }
            hasRun = true
            for job in jobs { job.runSynchronously(on: executor.asUnownedSerialExecutor()) }
        }
    }
}
