extension PusherTestRelay {
    /// The directions of bytes.
    public struct Directions: OptionSet, Hashable, Sendable {
        /// The raw value.
        public let rawValue: Int

        /// Makes directions from their raw value.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// From the client to the server.
        public static let toServer = Self(rawValue: 1)
        /// Both directions.
        public static let toClient = Self(rawValue: 2)
        /// Either way.
        public static let both: Self = [.toServer, .toClient]
    }

    /// The fault of the bytes in one direction.
    public enum StreamFault: Hashable, Sendable {
        /// They are read and dropped, and the end of the connection is kept back. Neither side receives anything from
        /// the other, and each believes that the connection is open. In both directions, this is a half-open
        /// connection, as a dead router leaves it.
        case swallowed
        /// They are not read. They stay with the sender, which can no longer write after the system's buffers are full.
        case held
        /// They are passed on after this time, in order.
        case delayed(Duration)
        /// They are passed on one by one, each in a segment of its own, with this time between two. The receiving
        /// system may join bytes that are not read at once.
        case trickled(every: Duration)
        /// All bits of each nth byte are inverted, counted on each connection from the moment when the fault was set; 1
        /// inverts every byte. Less than 1 counts as 1.
        case corrupted(every: Int)
    }

    /// What happens to a new connection instead of being relayed.
    public enum ConnectionFault: Hashable, Sendable {
        /// It is accepted and closed at once (FIN; if the client has already sent bytes, the system sends RST as well).
        case closed
        /// It is accepted and reset at once (RST).
        case reset
        /// It is accepted. The relay reads the client's bytes and never answers. It stays silent when the fault ends.
        case silent
    }

    /// What a network that blocks WebSockets does with a WebSocket request.
    public enum UpgradeFault: Hashable, Sendable {
        /// It is dropped, without an answer.
        case swallowed
        /// It is answered with this HTTP status, for example 400 or 426, and the connection ends.
        case answered(status: Int)
        /// The connection is reset (RST).
        case reset
    }
}

extension PusherTestRelay {
    /// Applies a fault to the bytes of these directions, on open and new connections, until ``passOn(_:)`` or another
    /// fault for the same direction.
    ///
    /// Bytes that an earlier fault holds back are still passed on before later bytes, even if the new fault is
    /// ``StreamFault/swallowed``. Delayed bytes are passed on when they are due. Swallowed bytes are lost.
    /// - Parameters:
    ///   - directions: the ways. Default: both.
    ///   - fault: the fault.
    public func fail(_ directions: Directions = .both, with fault: StreamFault) {
        engine.setFault(fault, directions)
    }

    /// Ends ``fail(_:with:)``: bytes are passed on unchanged. If the end of one side was swallowed or held back, the
    /// relay now passes it on to the other side.
    /// - Parameter directions: the ways. Default: both.
    public func passOn(_ directions: Directions = .both) { engine.setFault(nil, directions) }

    /// Makes new connections fail, until ``acceptConnections()``. See ``stopListening()`` for connections that are
    /// refused.
    ///
    /// - Parameters:
    ///   - count: the number of connections; later ones are relayed. Nil, the default, means all. If an earlier call's
    ///     count is not used up, a further call is appended to it. It replaces a call without a count.
    ///   - fault: the fault.
    public func failConnections(_ count: Int? = nil, with fault: ConnectionFault) {
        engine.failConnections(count, with: fault)
    }

    /// Ends ``failConnections(_:with:)``.
    public func acceptConnections() { engine.acceptConnections() }

    /// Blocks WebSockets on new connections, as some networks do. Other requests are relayed.
    ///
    /// The relay looks for the upgrade in the first request of each connection, which must not be over TLS.
    /// - Parameter fault: the fault of a WebSocket request; nil relays such requests again.
    public func blockUpgrades(with fault: UpgradeFault?) { engine.setUpgradeFault(fault) }

    /// Closes each connection on both sides (FIN) after the client has sent nothing for this long, as proxies do: nginx
    /// after 60 s, unless it is configured otherwise.
    ///
    /// - Parameter limit: how long a client may send nothing, on open connections from now on, and on new ones; nil
    ///   removes the limit.
    public func limitIdleTime(to limit: Duration?) { engine.setIdleLimit(limit) }

    /// Ends all connections on both sides in an orderly way (FIN), without waiting for pending bytes. If a side has
    /// sent bytes that the relay had not read yet, or continues to send, the system sends it an RST as well.
    public func dropConnections() { engine.endConnections(byReset: false) }

    /// Resets all connections on both sides (RST), as a system does when the process has died.
    public func resetConnections() { engine.endConnections(byReset: true) }
}
