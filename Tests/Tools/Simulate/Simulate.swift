import Foundation
import NIOConcurrencyHelpers
import Simulation

/// Runs simulations, seed after seed, on all cores. A failing script is shrunk and printed.
///
/// `simulate [--first SEED] [--seeds COUNT] [--histogram] [--no-shrinking] [--trace]`
@main
enum Simulate {
    static func main() {
        // Sets and dictionaries must have the same order each time. Otherwise a seed would not repeat a run.
        guard ProcessInfo.processInfo.environment["SWIFT_DETERMINISTIC_HASHING"] != nil else {
            print("Set SWIFT_DETERMINISTIC_HASHING=1: without it a seed does not bring the same run again.")
            exit(2)
        }
        let first = UInt64(argument("--first", 1))
        let count = UInt64(argument("--seeds", 2_000))
        let progress = Progress(next: first, end: first + count)
        let threads = (0..<ProcessInfo.processInfo.activeProcessorCount).map { _ in
            let thread = Thread { progress.work() }
            thread.stackSize = 8 << 20
            return thread
        }
        for thread in threads { thread.start() }
        progress.wait(for: threads.count)
        exit(progress.report(first: first, count: count) ? 0 : 1)
    }

    private static func argument(_ name: String, _ standard: Int) -> Int {
        let arguments = CommandLine.arguments
        guard let index = arguments.firstIndex(of: name) else { return standard }
        guard index + 1 < arguments.count, let number = Int(arguments[index + 1]), number > 0 else {
            print("\(name) takes a number above zero.")
            exit(2)
        }
        return number
    }
}

/// The state that the threads share.
private final class Progress: Sendable {
    private struct State: Sendable {
        var next: UInt64
        var coverage = FaultCoverage()
        var failures: [(seed: UInt64, violations: [String])] = []
        var doneThreads = 0
        var doneSeeds = 0
    }

    private let state: NIOLockedValueBox<State>
    private let end: UInt64
    private let isDone = DispatchSemaphore(value: 0)
    private let start = ContinuousClock.now

    /// Counting takes time, so it is done for one seed of this many.
    private static let coveragePeriod: UInt64 = 8

    /// After this many failures the program stops.
    private static let maximumFailures = 5

    init(next: UInt64, end: UInt64) {
        state = NIOLockedValueBox(State(next: next))
        self.end = end
    }

    func work() {
        while let seed = takeSeed() {
            let hasCoverage = seed.isMultiple(of: Self.coveragePeriod)
            let outcome = Simulation(seed: seed).run(hasCoverage: hasCoverage)
            let done = state.withLockedValue { state in
                if hasCoverage { state.coverage = state.coverage + outcome.coverage }
                if !outcome.violations.isEmpty { state.failures.append((seed, outcome.violations)) }
                state.doneSeeds += 1
                return state.doneSeeds
            }
            if done.isMultiple(of: 10_000) { print("\(done) seeds in \(elapsed) s") }
        }
        isDone.signal()
    }

    private var elapsed: Int { Int((ContinuousClock.now - start).components.seconds) }

    private func takeSeed() -> UInt64? {
        state.withLockedValue { state in
            guard state.next < end, state.failures.count < Self.maximumFailures else { return nil }
            defer { state.next += 1 }
            return state.next
        }
    }

    func wait(for threads: Int) {
        for _ in 0..<threads { isDone.wait() }
    }

    /// True if there was no failure.
    func report(first: UInt64, count: UInt64) -> Bool {
        let (coverage, failures, done) = state.withLockedValue { ($0.coverage, $0.failures, $0.doneSeeds) }
        if CommandLine.arguments.contains("--histogram") {
            print("How often each kind of action met the client in each state, in every \(Self.coveragePeriod)th seed:")
            print(coverage.table)
            for gap in coverage.gaps { print("never: \(gap)") }
        }
        for failure in failures.sorted(by: { $0.seed < $1.seed }) {
            print("\nSeed \(failure.seed) fails: \(failure.violations.joined(separator: "; "))")
            guard !CommandLine.arguments.contains("--no-shrinking"),
                let shrunk = Simulation(seed: failure.seed).shrunk()
            else { continue }
            print("\(shrunk.actions.count) actions are enough:\n\(shrunk.transcript)")
            let outcome = shrunk.run(hasTrace: CommandLine.arguments.contains("--trace"))
            print((outcome.trace + outcome.violations).joined(separator: "\n"))
        }
        print("\(done) seeds from \(first) on, \(failures.count) failures, \(elapsed) s")
        return failures.isEmpty
    }
}
