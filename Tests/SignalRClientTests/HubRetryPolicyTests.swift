import SignalRClient
import TestTraits
import Testing

@Suite(.limited) struct HubRetryPolicyTests {
    private func delays(_ policy: StandardHubRetryPolicy, _ counts: Range<Int> = 0..<4) -> [TimeInterval?] {
        counts.map {
            policy.nextRetryInterval(retryContext: RetryContext(retryCount: $0, elapsed: 0, retryReason: nil))
        }
    }

    @Test func listsEndOrRepeatTheirLastWait() {
        #expect(delays(.delays([.seconds(1), .milliseconds(500)])) == [1, 0.5, 0.5, 0.5])
        #expect(delays(.delays([.seconds(1), .seconds(2)], repeatsLast: false)) == [1, 2, nil, nil])
        #expect(delays(.delays([])) == [nil, nil, nil, nil])
        #expect(delays(.forever, 0..<5) == [0, 2, 10, 30, 30])
    }

    @Test func exponentialWaitsAreRandomAndHaveALimit() throws {
        for (count, bound) in [1.0, 2, 4, 8, 16, 30, 30].enumerated() {
            let waits = (0..<100).compactMap { _ in delays(.exponential(), count..<count + 1)[0] }
            #expect(waits.count == 100 && Set(waits).count > 50 && waits.allSatisfy { 0 <= $0 && $0 <= bound })
        }
        for count in [0, 1, 2_000, Int.max - 1] {
            let waits = delays(.exponential(factor: .infinity, cap: .seconds(1_000_000_000)), count..<count + 1)
            #expect(try #require(waits[0]).isFinite)
        }
        #expect(delays(.exponential(base: .zero)) == [0, 0, 0, 0])
    }

    @Test func atMostLimitsTheNumberOfAttempts() {
        #expect(delays(.atMost(2, .forever)) == [0, 2, nil, nil])
        #expect(delays(.atMost(1)).map { $0 == nil } == [false, true, true, true])
    }
}
