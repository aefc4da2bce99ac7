import Foundation
import NIOConcurrencyHelpers

/// Ends the process, as failed, if a step takes too long.
struct HangGuard: Sendable {
    private struct Step: Sendable {
        var name: String
        var since = ContinuousClock.now
    }

    private let step: NIOLockedValueBox<Step>

    /// - Parameter patience: How long a step may take.
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

    /// The previous step has ended.
    func begin(_ name: String) { step.withLockedValue { $0 = Step(name: name) } }

    private static func fail(_ message: String) -> Never {
        FileHandle.standardError.write(Data("\(message)\n".utf8))
        exit(1)
    }
}
