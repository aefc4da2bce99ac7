import Foundation
package import Testing

/// A trait for all suites of this package. It limits how many tests run at once, and for how long each test runs.
///
/// Swift Testing starts all tests at once. On two threads, each step of a test would then wait for a step of all other
/// tests, which takes longer than the time limits of the tested clients.
package struct Limited: SuiteTrait, TestTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        // A suite inside a suite has the trait twice.
        if Places.isTaken { return try await function() }
        await Places.shared.take()
        let result: Result<Void, any Error>
        do {
            try await Places.$isTaken.withValue(true) { try await Self.run(function, for: test) }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await Places.shared.giveBack()
        try result.get()
    }

    /// Cancels the test after five minutes. This time begins when the test begins to run. The time of Swift Testing's
    /// `timeLimit` would begin when the test begins to wait for its place.
    private static func run(
        _ function: @Sendable @concurrent () async throws -> Void,
        for test: Test
    ) async throws {
        try await withoutActuallyEscaping(function) { function in
            try await withThrowingTaskGroup { group in
                group.addTask { try await function() }
                group.addTask {
                    try await Task.sleep(for: .seconds(300))
                    Issue.record("The test did not end within five minutes.", sourceLocation: test.sourceLocation)
                }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }
}

extension Trait where Self == Limited {
    /// At most a few tests run at once, and each test runs for at most five minutes.
    package static var limited: Self { Limited() }
}

/// The places of the tests that run at the same time. Waiting tests get a place in their order.
private actor Places {
    static let shared = Places()
    @TaskLocal static var isTaken = false

    private var free = max(8, 4 * ProcessInfo.processInfo.activeProcessorCount)
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func take() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    func giveBack() {
        if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
    }
}
