/// The connection pools of one requester: a current one for each way to connect (directly or through a proxy), and old ones that still have pending requests.
struct ConnectionPools<Way: Hashable & Sendable, Pool: AnyObject & Sendable>: Sendable {
    private struct Use {
        let pool: Pool
        var origins: Set<String> = []
        var requests = 0
    }

    /// A pool keeps data about each host that it has connected to, and a request builder may name a new host each time.
    static var maximumOrigins: Int { 16 }

    private var current: [Way: ObjectIdentifier] = [:]
    private var uses: [ObjectIdentifier: Use] = [:]

    init() {}

    var all: [Pool] { uses.values.map(\.pool) }

    /// The pool for a request, which the caller must give back. The caller must shut the second one down.
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

    /// Handles that one of its requests has ended.
    ///
    /// - Parameter isUsable: Whether it may get more requests.
    /// - Returns: The pool, if the caller must shut it down.
    mutating func giveBack(_ pool: Pool, isUsable: Bool) -> Pool? {
        let identifier = ObjectIdentifier(pool)
        uses[identifier]?.requests -= 1
        let isRetired = !current.values.contains(identifier)
        return isRetired || !isUsable ? retire(identifier) : nil
    }

    /// Nil if it still has requests.
    private mutating func retire(_ identifier: ObjectIdentifier) -> Pool? {
        if let way = current.first(where: { $0.value == identifier })?.key { current[way] = nil }
        guard let use = uses[identifier], use.requests == 0 else { return nil }
        uses[identifier] = nil
        return use.pool
    }
}
