import PusherProtocol
import TestSupport
import TestTraits
import Testing

@testable import PusherCore

@Suite("Random walk", .limited)
struct RandomWalkTests {
    /// Runs 4 walks of 20,000 inputs. The ledger checks each input, and that nothing remains at the end.
    @Test("No order of inputs breaks an invariant, and each required event happens often", .needsSodium)
    func walk() async throws {
        let coverage = try await withThrowingTaskGroup(of: Coverage.self) { group in
            for seed in UInt64(1)...4 { group.addTask { try await Self.walk(seed: seed) } }
            return try await group.reduce(Coverage(), +)
        }
        // The walks must cause each of these events often. Otherwise, they would prove little.
        let missing = Coverage.required.filter { coverage.counts[$0, default: 0] < 3 }
        #expect(missing == [], "\(coverage.counts)")
    }

    private static func walk(seed: UInt64) async throws -> Coverage {
        var walk = try RandomWalk(seed: seed)
        for number in 0..<20_000 {
            // The walk yields its thread often, because tests with real sockets and time limits need the same threads.
            if number.isMultiple(of: 20) { await Task.yield() }
            walk.step()
            if let report = walk.failure {
                Issue.record("\(report)")
                return walk.coverage
            }
        }
        walk.end()
        if let report = walk.failure { Issue.record("\(report)") }
        #expect(walk.attemptCount > 200 && walk.connectionCount > 50)
        return walk.coverage
    }
}
