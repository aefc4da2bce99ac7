extension PusherTestRelay {
    /// The directions in which the relay passes bytes on.
    public struct Directions: OptionSet, Hashable, Sendable {
        /// The raw value.
        public let rawValue: Int

        /// Creates directions from their raw value.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// From the client to the server.
        public static let toServer = Self(rawValue: 1)
        /// From the server to the client.
        public static let toClient = Self(rawValue: 2)
        /// Both directions.
        public static let both: Self = [.toServer, .toClient]
    }

    /// The fault of the bytes in one direction.
    public enum StreamFault: Hashable, Sendable {
        /// The relay reads the bytes and drops them. If the sending side closes its connection, the relay does not
        /// close the connection to the receiving side. The receiving side gets nothing, and assumes that the connection
        /// is open. In both directions, the fault imitates the half-open connection that a failed router leaves behind.
        case swallowed
        /// The relay does not read the bytes. The bytes stay with the sender. When the system's buffers are full, the
        /// sender cannot write.
        case held
        /// The relay passes the bytes on after this time, in order.
        case delayed(Duration)
        /// The relay passes the bytes on one by one, in separate segments, with this time between two bytes. The
        /// receiving system may join bytes that the receiver does not read at once.
        case trickled(every: Duration)
        /// The relay inverts all bits of every nth byte. The relay counts bytes on each connection from the time when
        /// the test set the fault. With 1, the relay inverts every byte. A number below 1 counts as 1.
        case corrupted(every: Int)
    }

    /// A fault of a new connection, which the relay does not connect to the server.
    public enum ConnectionFault: Hashable, Sendable {
        /// The relay accepts the connection and closes it at once (FIN). If the client has already sent bytes, the
        /// system also sends RST.
        case closed
        /// The relay accepts the connection and resets it at once (RST).
        case reset
        /// The relay accepts the connection, reads the client's bytes and never answers. The connection stays silent
        /// when the fault ends.
        case silent
    }

    /// The reaction of a network that blocks WebSockets to a WebSocket request.
    public enum UpgradeFault: Hashable, Sendable {
        /// The relay drops the request without an answer.
        case swallowed
        /// The relay answers the request with this HTTP status, for example 400 or 426, and closes the connection.
        case answered(status: Int)
        /// The relay resets the connection (RST).
        case reset
    }
}

extension PusherTestRelay {
    /// Applies a fault to the bytes of these directions, on open and new connections, until ``passOn(_:)`` or another
    /// fault for the same direction.
    ///
    /// If an earlier fault holds bytes back, the relay passes them on before later bytes, even if the new fault is
    /// ``StreamFault/swallowed``. The relay passes delayed bytes on when they are due. Swallowed bytes are lost.
    /// - Parameters:
    ///   - directions: The directions. Default: both.
    ///   - fault: The fault.
    public func fail(_ directions: Directions = .both, with fault: StreamFault) {
        engine.setFault(fault, directions)
    }

    /// Ends the faults of ``fail(_:with:)``, so that the relay passes bytes on unchanged. If one side has closed its
    /// connection during the fault, the relay now closes the connection to the other side.
    /// - Parameter directions: The directions. Default: both.
    public func passOn(_ directions: Directions = .both) { engine.setFault(nil, directions) }

    /// Makes new connections fail, until ``acceptConnections()``. To make the system refuse connections, use
    /// ``stopListening()``.
    ///
    /// - Parameters:
    ///   - count: The number of connections. The relay relays later connections. Default: nil, for all connections. A
    ///     later call takes effect after all earlier calls have reached their counts. A later call replaces an earlier
    ///     call without a count.
    ///   - fault: The fault.
    public func failConnections(_ count: Int? = nil, with fault: ConnectionFault) {
        engine.failConnections(count, with: fault)
    }

    /// Ends ``failConnections(_:with:)``.
    public func acceptConnections() { engine.acceptConnections() }

    /// Blocks WebSockets on new connections, as some networks do. The relay still relays other requests.
    ///
    /// The relay looks for the upgrade in the first request of each connection. The relay cannot see upgrades over TLS.
    /// - Parameter fault: The fault of a WebSocket request. If nil, the relay relays WebSocket requests again.
    public func blockUpgrades(with fault: UpgradeFault?) { engine.setUpgradeFault(fault) }

    /// Closes each connection on both sides (FIN) when the client has sent nothing for this time, as proxies do. The
    /// default of nginx is 60 s.
    ///
    /// - Parameter limit: The longest silence of a client, on open and new connections. Nil removes the limit.
    public func limitIdleTime(to limit: Duration?) { engine.setIdleLimit(limit) }

    /// Closes all connections on both sides (FIN), without waiting for pending bytes. If a side continues to send, or
    /// has sent bytes that the relay had not read yet, the system also sends an RST.
    public func dropConnections() { engine.endConnections(byReset: false) }

    /// Resets all connections on both sides (RST), as some firewalls do.
    public func resetConnections() { engine.endConnections(byReset: true) }
}
