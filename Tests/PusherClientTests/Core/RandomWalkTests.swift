import PusherClient
import PusherProtocol
import TestSupport
import Testing

@Suite("Random walk")
struct RandomWalkTests {
    /// 6 walks of 20,000 inputs. The ledger is asked after each; at the end nothing may be left.
    @Test("No order of inputs breaks what must hold", arguments: UInt64(1)...6)
    func walk(seed: UInt64) {
        var walk = RandomWalk(seed: seed)
        for _ in 0..<20_000 {
            walk.step()
            if let report = walk.failure {
                Issue.record("\(report)")
                return
            }
        }
        walk.end()
        if let report = walk.failure { Issue.record("\(report)") }
        // A walk that never comes far shows nothing.
        #expect(walk.attemptCount > 500 && walk.connectionCount > 200)
    }
}
