import Testing

@testable import RealtimeHTTP

@Suite("Connection pools of the HTTP client", .timeLimit(.minutes(5)))
struct ConnectionPoolsTests {
    private final class Pool: Sendable {}
    private typealias Pools = ConnectionPools<String, Pool>

    @Test("requests on the same way have the same pool, and those on another way another one")
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

    @Test("after a request that was given up there is a new pool; the old one ends with its last request")
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

    @Test("requests to ever new hosts do not make what a pool keeps grow")
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

        // One that has requests under way is kept until they have ended.
        for number in 0..<Pools.maximumOrigins {
            #expect(pools.take(for: "direct", origin: "https://\(number).test", make: Pool.init).ended == nil)
        }
        #expect(pools.all.count == 2)
    }
}
