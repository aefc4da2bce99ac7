import Foundation
import NIOConcurrencyHelpers

/// Ends the process with an error if a step takes too long.
struct HangGuard: Sendable {
    private struct Step: Sendable {
        var name: String
        var since = ContinuousClock.now
    }

    private let step: NIOLockedValueBox<Step>

    /// - Parameter patience: The time limit of a step.
    init(patience: Duration, _ name: String) {
        let step = NIOLockedValueBox(Step(name: name))
        self.step = step
        Task {
            while true {
                let current = step.withLockedValue { $0 }
                guard ContinuousClock.now < current.since + patience else {
                    Self.fail("stuck for \(patience.formatted()): \(current.name)")
                }
                try await Task.sleep(until: current.since + patience)
            }
        }
    }

    /// Ends the previous step, and begins a new one.
    func begin(_ name: String) { step.withLockedValue { $0 = Step(name: name) } }

    private static func fail(_ message: String) -> Never {
        FileHandle.standardError.write(Data("\(message)\n".utf8))
        exit(1)
    }
}
