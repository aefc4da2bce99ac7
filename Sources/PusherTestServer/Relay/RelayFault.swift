extension PusherTestRelay {
    /// The ways that bytes go.
    public struct Directions: OptionSet, Hashable, Sendable {
        /// The raw value.
        public let rawValue: Int

        /// Makes directions from their raw value.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// From the client to the server.
        public static let toServer = Self(rawValue: 1)
        /// From the server to the client.
        public static let toClient = Self(rawValue: 2)
        /// Either way.
        public static let both: Self = [.toServer, .toClient]
    }

    /// What happens to the bytes that go one way.
    public enum StreamFault: Hashable, Sendable {
        /// They are read and thrown away, and the end of the connection is kept back: neither side hears of the other,
        /// and each takes the connection for open. Both ways together are a half-open connection, as a dead router leaves
        /// it.
        case swallowed
        /// They are not read: they stay with the sender, which cannot write any more once the system's buffers are
        /// full.
        case held
        /// They go on after this time, in their order.
        case delayed(Duration)
        /// They go on one by one, each in a segment of its own, with this time between two. The receiving system may
        /// put bytes together again that are not read at once.
        case trickled(every: Duration)
        /// All bits of each nth byte are inverted, counted on each connection from when the fault was set; 1 inverts
        /// every byte. Less than 1 counts as 1.
        case corrupted(every: Int)
    }

    /// What happens to a new connection in place of being relayed.
    public enum ConnectionFault: Hashable, Sendable {
        /// It is accepted, and ended at once (FIN; where the client has sent something by then, the system says RST as
        /// well).
        case closed
        /// It is accepted, and reset at once (RST).
        case reset
        /// It is accepted; what the client sends is read, and nothing is ever said. It stays so when the fault ends.
        case silent
    }

    /// What a network that blocks WebSockets does with the request for one.
    public enum UpgradeFault: Hashable, Sendable {
        /// It is taken, and nothing follows.
        case swallowed
        /// It is answered with this HTTP status, for example 400 or 426, and the connection ends.
        case answered(status: Int)
        /// The connection is reset (RST).
        case reset
    }
}

extension PusherTestRelay {
    /// Does this to what goes that way, on connections that stand and on those to come, until
    /// ``passOn(_:)`` or another fault for that way.
    ///
    /// What another fault has held back by then still goes on before what comes after it, also where that is
    /// ``StreamFault/swallowed``: delayed bytes when they are due. What was swallowed is lost.
    /// - Parameters:
    ///   - directions: the ways. Default: both.
    ///   - fault: what happens to the bytes.
    public func fail(_ directions: Directions = .both, with fault: StreamFault) {
        engine.setFault(fault, directions)
    }

    /// Ends what ``fail(_:with:)`` began: bytes go on as they are. Where one side's end was swallowed or held back, the
    /// other side is told of it now.
    /// - Parameter directions: the ways. Default: both.
    public func passOn(_ directions: Directions = .both) { engine.setFault(nil, directions) }

    /// Makes new connections fail, until ``acceptConnections()``. See ``stopListening()`` for connections that are
    /// refused.
    ///
    /// - Parameters:
    ///   - count: how many; the ones after them are relayed. Nil, the default, means all. A further call is appended to
    ///     one whose count has not been used up, and takes the place of one without.
    ///   - fault: what happens to them.
    public func failConnections(_ count: Int? = nil, with fault: ConnectionFault) {
        engine.failConnections(count, with: fault)
    }

    /// Ends what ``failConnections(_:with:)`` began.
    public func acceptConnections() { engine.acceptConnections() }

    /// Blocks WebSockets on connections to come, as some networks do. Other requests are relayed.
    ///
    /// The relay looks for the upgrade in the first request of each connection, which must not be over TLS.
    /// - Parameter fault: what a request for a WebSocket gets; nil relays it again.
    public func blockUpgrades(with fault: UpgradeFault?) { engine.setUpgradeFault(fault) }

    /// Ends each connection on both sides (FIN) as soon as the client has sent nothing for this long, as proxies do:
    /// nginx after 60 s, unless it is configured otherwise.
    ///
    /// - Parameter limit: how long a client may send nothing, on connections that stand, from now on, and on those to
    ///   come; nil ends the limit.
    public func limitIdleTime(to limit: Duration?) { engine.setIdleLimit(limit) }

    /// Ends all connections on both sides in an orderly way (FIN), without waiting for what is under way on them. To a
    /// side that has sent what the relay had not read yet, or goes on sending, the system says RST as well.
    public func dropConnections() { engine.endConnections(byReset: false) }

    /// Resets all connections on both sides (RST), as a system does whose process has died.
    public func resetConnections() { engine.endConnections(byReset: true) }
}
