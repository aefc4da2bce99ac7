import TestTraits
import Testing

@testable import RealtimeHTTP

@Suite("Connection pools of the HTTP client", .limited)
struct ConnectionPoolsTests {
    private final class Pool: Sendable {}
    private typealias Pools = ConnectionPools<String, Pool>

    @Test("requests of the same kind share a pool")
    func ways() {
        var pools = Pools()
        let first = pools.take(for: "direct", origin: "a", make: Pool.init).pool
        let second = pools.take(for: "direct", origin: "b", make: Pool.init).pool
        let third = pools.take(for: "proxy", origin: "a", make: Pool.init).pool
        #expect(first === second)
        #expect(first !== third)
        #expect(pools.giveBack(first, isUsable: true) == nil)
        #expect(pools.giveBack(second, isUsable: true) == nil)
        #expect(pools.take(for: "direct", origin: "a", make: Pool.init).pool === first)
        #expect(pools.all.count == 2)
    }

    @Test("the pool of a cancelled request gets no more requests, and is shut down after its last request")
    func givenUp() {
        var pools = Pools()
        let old = pools.take(for: "direct", origin: "a", make: Pool.init).pool
        for _ in 0..<2 { _ = pools.take(for: "direct", origin: "a", make: Pool.init) }
        #expect(pools.giveBack(old, isUsable: false) == nil)
        let new = pools.take(for: "direct", origin: "a", make: Pool.init).pool
        #expect(new !== old)
        #expect(pools.giveBack(old, isUsable: false) == nil)
        #expect(pools.take(for: "direct", origin: "a", make: Pool.init).pool === new)
        #expect(pools.all.count == 2)
        #expect(pools.giveBack(old, isUsable: true) === old)
        #expect(pools.all.count == 1)
        #expect(pools.giveBack(new, isUsable: true) == nil)
        #expect(pools.giveBack(new, isUsable: false) === new)
        #expect(pools.all.isEmpty)
    }

    @Test("a pool serves a limited number of origins")
    func newHosts() {
        var pools = Pools()
        var ended: [Pool] = []
        for number in 0..<100 {
            let (pool, old) = pools.take(for: "direct", origin: "https://\(number).example", make: Pool.init)
            if let old { ended.append(old) }
            #expect(pools.giveBack(pool, isUsable: true) == nil)
        }
        #expect(ended.count == (100 - 1) / Pools.maximumOrigins)
        #expect(pools.all.count == 1)

        // Retired pools remain only until all their requests have ended.
        for number in 0..<Pools.maximumOrigins {
            #expect(pools.take(for: "direct", origin: "https://\(number).test", make: Pool.init).ended == nil)
        }
        #expect(pools.all.count == 2)
    }
}
