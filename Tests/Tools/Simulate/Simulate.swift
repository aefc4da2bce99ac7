import Foundation
import NIOConcurrencyHelpers
import Simulation

/// Runs simulations for consecutive seeds, on all cores. The program stops after five failures. It shrinks and prints
/// each failing script, unless `--no-shrinking` is passed.
///
/// `simulate [--first SEED] [--seeds COUNT] [--histogram] [--no-shrinking] [--trace]`
@main
enum Simulate {
    static func main() {
        // A seed repeats a run only if sets and dictionaries have the same order each time.
        guard ProcessInfo.processInfo.environment["SWIFT_DETERMINISTIC_HASHING"] != nil else {
            print("Set SWIFT_DETERMINISTIC_HASHING=1. Without this setting, a seed does not repeat a run.")
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
            print("Invalid \(name): use a number above zero.")
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

    /// The program counts actions only for seeds that are multiples of this number, because counting takes time.
    private static let coveragePeriod: UInt64 = 8

    /// The number of failures after which the program stops.
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

    /// Prints the results. Returns true if there was no failure.
    func report(first: UInt64, count: UInt64) -> Bool {
        let (coverage, failures, done) = state.withLockedValue { ($0.coverage, $0.failures, $0.doneSeeds) }
        if CommandLine.arguments.contains("--histogram") {
            print(
                "The number of actions of each kind in each state of the client, for every \(Self.coveragePeriod)th seed:"
            )
            print(coverage.table)
            for gap in coverage.gaps { print("never: \(gap)") }
        }
        for failure in failures.sorted(by: { $0.seed < $1.seed }) {
            print("\nSeed \(failure.seed) fails: \(failure.violations.joined(separator: "; "))")
            guard !CommandLine.arguments.contains("--no-shrinking"),
                let shrunk = Simulation(seed: failure.seed).shrunk()
            else { continue }
            print("A script of \(shrunk.actions.count) actions fails too:\n\(shrunk.transcript)")
            let outcome = shrunk.run(hasTrace: CommandLine.arguments.contains("--trace"))
            print((outcome.trace + outcome.violations).joined(separator: "\n"))
        }
        print("\(done) seeds, beginning with \(first): \(failures.count) failures, \(elapsed) s")
        return failures.isEmpty
    }
}
