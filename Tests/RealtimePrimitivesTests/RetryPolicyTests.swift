import RealtimePrimitives
import TestTraits
import Testing

@Suite("Retry policies", .limited)
struct RetryPolicyTests {
    private static func context(_ retryCount: Int, random: Double = 0) -> RetryContext {
        RetryContext(retryCount: retryCount, elapsed: .zero, reason: CancellationError(), random: random)
    }

    @Test("the default policy doubles the limit of its waits from 1 s to 30 s, and never stops")
    func defaults() {
        let policy: some RetryPolicy = .exponential()
        let bounds = (0...9).map { policy.delay(for: Self.context($0, random: 1)) }
        #expect(bounds == [1, 2, 4, 8, 16, 30, 30, 30, 30, 30].map { .seconds($0) })
    }

    @Test("a policy can limit the attempts of another policy")
    func end() {
        let policies: [any RetryPolicy] = [.atMost(2), .atMost(2, .delays([.seconds(1)]))]
        for policy in policies {
            #expect((0...3).map { policy.delay(for: Self.context($0)) == nil } == [false, false, true, true])
        }
        let limited: some RetryPolicy = .atMost(3, .delays([.seconds(1), .seconds(2)], repeatsLast: false))
        #expect((0...3).map { limited.delay(for: Self.context($0)) } == [.seconds(1), .seconds(2), nil, nil])
    }

    @Test("a wait is random between zero and its maximum", arguments: [0, 0.25, 0.5, 0.875])
    func jitter(random: Double) {
        #expect(ExponentialBackOff().delay(for: Self.context(3, random: random)) == .seconds(8) * random)
    }

    @Test(
        "the policy clamps a random number to the range from 0 to 1",
        arguments: [(-1.0, 0), (2, 8), (.nan, 0), (.infinity, 8)]
    )
    func senselessRandom(random: Double, seconds: Int) {
        #expect(ExponentialBackOff().delay(for: Self.context(3, random: random)) == .seconds(seconds))
    }

    @Test(
        "base, factor and cap determine the maximum of each wait",
        arguments: [
            (
                ExponentialBackOff(base: .milliseconds(100), factor: 3, cap: .seconds(1)),
                [100, 300, 900, 1_000, 1_000]
            ),
            (
                ExponentialBackOff(base: .seconds(2), factor: 1, cap: .seconds(9)),
                [2_000, 2_000, 2_000, 2_000, 2_000]
            ),
            (ExponentialBackOff(base: .seconds(2), factor: 0.5), [2_000, 2_000, 2_000, 2_000, 2_000]),
            (ExponentialBackOff(base: .seconds(2), factor: .nan), [2_000, 2_000, 2_000, 2_000, 2_000]),
            (ExponentialBackOff(base: .seconds(5), cap: .seconds(3)), [3_000, 3_000, 3_000, 3_000, 3_000]),
            (ExponentialBackOff(base: .zero), [0, 0, 0, 0, 0]),
            (ExponentialBackOff(base: .seconds(-1)), [0, 0, 0, 0, 0]),
            (ExponentialBackOff(cap: .seconds(-1)), [0, 0, 0, 0, 0]),
        ]
    )
    func bounds(policy: ExponentialBackOff, milliseconds: [Int]) {
        #expect((0..<5).map { policy.bound(retryCount: $0) } == milliseconds.map { .milliseconds($0) })
    }

    @Test("the policy computes the wait for a large retry count without a long loop", arguments: [64, 2_000, Int.max])
    func largeCounts(retryCount: Int) {
        for factor in [2, 1.000_001, 1e300, .infinity] {
            let bound = ExponentialBackOff(factor: factor).bound(retryCount: retryCount)
            #expect(bound == .seconds(30) || (retryCount < 1_000_000 && factor < 1.1))
        }
    }

    @Test("a negative retry count and invalid parameters do not trap")
    func nonsense() {
        #expect(ExponentialBackOff().bound(retryCount: .min) == .seconds(1))
        var policy = ExponentialBackOff()
        policy.factor = -2
        #expect(policy.bound(retryCount: 3) == .seconds(1))
        policy.base = .seconds(-3)
        #expect(policy.delay(for: Self.context(3, random: 1)) == .zero)
        policy = ExponentialBackOff(base: .seconds(Int64.max), factor: 1e300, cap: .seconds(Int64.max))
        #expect(policy.bound(retryCount: 9) == .seconds(Int64.max))
    }

    @Test("a list gives its waits in order, and optionally repeats the last wait")
    func list() {
        let delays: [Duration] = [.zero, .seconds(1), .seconds(5)]
        func waits(_ policy: some RetryPolicy) -> [Duration?] { (0..<5).map { policy.delay(for: Self.context($0)) } }
        #expect(waits(.delays(delays)) == [.zero, .seconds(1), .seconds(5), .seconds(5), .seconds(5)])
        #expect(waits(.delays(delays, repeatsLast: false)) == [.zero, .seconds(1), .seconds(5), nil, nil])
    }

    @Test("a policy with an empty list allows no retry", arguments: [true, false])
    func emptyList(repeatsLast: Bool) {
        #expect(StandardRetryPolicy.delays([], repeatsLast: repeatsLast).delay(for: Self.context(0)) == nil)
    }
}
