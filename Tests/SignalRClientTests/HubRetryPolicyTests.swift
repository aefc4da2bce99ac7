import SignalRClient
import TestTraits
import Testing

@Suite(.limited) struct HubRetryPolicyTests {
    private func delay(_ policy: ExponentialDelayRetryPolicy, after count: Int = 0) -> TimeInterval? {
        policy.nextRetryInterval(retryContext: RetryContext(retryCount: count, elapsed: 0, retryReason: nil))
    }

    @Test func infiniteValuesDoNotTrap() throws {
        let infinite = Double.infinity
        for count in [0, 1, 2_000, .max] {
            for policy: ExponentialDelayRetryPolicy in [
                .exponential(base: infinite, cap: infinite), .exponential(cap: infinite),
                .exponential(factor: infinite, cap: infinite), .exponential(cap: .greatestFiniteMagnitude),
            ] {
                let wait = try #require(delay(policy, after: count))
                #expect(wait >= 0 && wait.isFinite)
            }
        }
        #expect(delay(.exponential(cap: .nan)) == 0 || delay(.exponential(cap: .nan))?.isFinite == true)
        #expect(delay(.exponential(base: .nan)) == 0)
        #expect(delay(.exponential(base: -infinite)) == 0)
        let capped = try #require(delay(.exponential(base: infinite, cap: 30)))
        #expect((0...30).contains(capped))
    }
}
