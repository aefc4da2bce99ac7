import Foundation

/// Runs the tasks of one simulated world, one step after another, on command of this world.
///
/// A hook of the concurrency runtime passes the jobs of one thread to this class instead of the global executor. Other
/// threads are not affected. The world therefore decides the order in which tasks run, and the same seed gives the same
/// order.
package final class CapturedTasks {
    private var jobs: [UnownedJob] = []
    private let executor = Executor()

    /// The executor on which a job runs.
    private final class Executor: SerialExecutor {
        func enqueue(_ job: UnownedJob) { CapturedTasks.capture(job) { _ in } }
    }

    package var isEmpty: Bool { jobs.isEmpty }
    package var count: Int { jobs.count }

    /// Runs the task that became ready first, until it suspends. Does nothing if no task is ready.
    package func runNext() { run(0) }

    /// Runs one of the ready tasks. The index counts them in the order in which they became ready.
    package func run(_ index: Int) {
        guard index < jobs.count else { return }
        jobs.remove(at: index).runSynchronously(on: executor.asUnownedSerialExecutor())
    }

    /// Captures the jobs that the current thread gives to the global executor while `body` runs.
    package static func capturing<Result>(_ body: (CapturedTasks) throws -> Result) rethrows -> Result {
        _ = isHooked
        let tasks = CapturedTasks()
        pthread_setspecific(key, Unmanaged.passUnretained(tasks).toOpaque())
        defer { pthread_setspecific(key, nil) }
        return try body(tasks)
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        precondition(pthread_key_create(&key, nil) == 0, "the process cannot create another thread-specific key")
        return key
    }()

    private typealias Enqueue = @convention(thin) (UnownedJob) -> Void
    private typealias Hook = @convention(thin) (UnownedJob, Enqueue) -> Void

    private static let isHooked: Bool = {
        guard let symbol = dlsym(dlopen(nil, RTLD_NOW), "swift_task_enqueueGlobal_hook") else {
            preconditionFailure("this version of Swift has no hook for its global executor")
        }
        symbol.assumingMemoryBound(to: Hook?.self).pointee = { job, original in
            CapturedTasks.capture(job, orElse: { original($0) })
        }
        return true
    }()

    private static func capture(_ job: UnownedJob, orElse pass: (UnownedJob) -> Void) {
        guard let pointer = pthread_getspecific(key) else { return pass(job) }
        Unmanaged<CapturedTasks>.fromOpaque(pointer).takeUnretainedValue().jobs.append(job)
    }
}
