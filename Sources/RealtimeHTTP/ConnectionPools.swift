/// The connection pools of one requester. Each way to connect, directly or through a proxy, has a current pool. Old
/// pools remain while they have pending requests.
struct ConnectionPools<Way: Hashable & Sendable, Pool: AnyObject & Sendable>: Sendable {
    private struct Use {
        let pool: Pool
        var origins: Set<String> = []
        var requests = 0
    }

    /// The maximum number of origins of a pool. A pool keeps data about each host that it has connected to, and a
    /// request builder may use a new host for each request.
    static var maximumOrigins: Int { 16 }

    private var current: [Way: ObjectIdentifier] = [:]
    private var uses: [ObjectIdentifier: Use] = [:]

    init() {}

    var all: [Pool] { uses.values.map(\.pool) }

    /// Returns the pool for a request. The caller must return `pool` with ``giveBack(_:isUsable:)``. If `ended` is not
    /// `nil`, the caller must shut `ended` down.
    mutating func take(
        for way: Way,
        origin: String,
        make: () throws -> Pool
    ) rethrows -> (pool: Pool, ended: Pool?) {
        let former = current[way]
        if let former, var use = uses[former], use.origins.contains(origin) || use.origins.count < Self.maximumOrigins {
            use.origins.insert(origin)
            use.requests += 1
            uses[former] = use
            return (use.pool, nil)
        }
        let pool = try make()
        let ended = former.flatMap { retire($0) }
        current[way] = ObjectIdentifier(pool)
        uses[ObjectIdentifier(pool)] = Use(pool: pool, origins: [origin], requests: 1)
        return (pool, ended)
    }

    /// Records the end of a request that used the pool.
    ///
    /// - Parameter isUsable: Whether the pool may get more requests.
    /// - Returns: The pool, if the caller must shut it down now.
    mutating func giveBack(_ pool: Pool, isUsable: Bool) -> Pool? {
        let identifier = ObjectIdentifier(pool)
        uses[identifier]?.requests -= 1
        let isRetired = !current.values.contains(identifier)
        return isRetired || !isUsable ? retire(identifier) : nil
    }

    /// Takes all pools out of use. Returns the pools that the caller must shut down now.
    mutating func retireAll() -> [Pool] { current.values.compactMap { retire($0) } }

    /// Takes a pool out of use. Returns the pool if it has no requests, so the caller must shut it down.
    private mutating func retire(_ identifier: ObjectIdentifier) -> Pool? {
        if let way = current.first(where: { $0.value == identifier })?.key { current[way] = nil }
        guard let use = uses[identifier], use.requests == 0 else { return nil }
        uses[identifier] = nil
        return use.pool
    }
}
