/// The connection pools of one requester: one for each way on which requests go, and those that get no more requests and
/// still have some under way.
struct ConnectionPools<Way: Hashable & Sendable, Pool: AnyObject & Sendable>: Sendable {
    private struct Use {
        let pool: Pool
        var origins: Set<String> = []
        var requests = 0
    }

    /// A pool keeps something about each host that it ever had a connection to, and a request builder may name a new one
    /// each time.
    static var maximumOrigins: Int { 16 }

    private var current: [Way: ObjectIdentifier] = [:]
    private var uses: [ObjectIdentifier: Use] = [:]

    init() {}

    var all: [Pool] { uses.values.map(\.pool) }

    /// The pool for a request, which has to be given back. The second one is to be shut down.
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

    /// One of its requests has ended.
    ///
    /// - Parameter isUsable: Whether it may get more.
    /// - Returns: The pool, if it is to be shut down.
    mutating func giveBack(_ pool: Pool, isUsable: Bool) -> Pool? {
        let identifier = ObjectIdentifier(pool)
        uses[identifier]?.requests -= 1
        let isRetired = !current.values.contains(identifier)
        return isRetired || !isUsable ? retire(identifier) : nil
    }

    /// Nil if it has requests still.
    private mutating func retire(_ identifier: ObjectIdentifier) -> Pool? {
        if let way = current.first(where: { $0.value == identifier })?.key { current[way] = nil }
        guard let use = uses[identifier], use.requests == 0 else { return nil }
        uses[identifier] = nil
        return use.pool
    }
}
