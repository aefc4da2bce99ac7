extension PusherTestRelay {
    /// A connection that a client has made, in its current state.
    public struct Connection: Hashable, Sendable {
        /// The connection's place in the log, counted from 0 over the relay's whole life.
        public var index: Int
        /// The fault that happened to it instead of being relayed.
        public var fault: ConnectionFault?
        /// The result of a blocked WebSocket request, if there was one.
        public var upgradeFault: UpgradeFault?
        /// The first bytes that the client sent, at most 16. TLS begins with the byte 22, HTTP with a method.
        public var openingBytes: [UInt8] = []
        /// How many bytes have come from the client.
        public var receivedFromClient = 0
        /// How many bytes have come from the server.
        public var receivedFromServer = 0
        /// How many bytes were dropped, in either direction.
        public var swallowed = 0
        /// Whether the client's side or the server's is still open.
        public var isOpen = true
    }

    /// The newest connections, in the order in which they were made: at most ``Options/maximumRecordCount``.
    public var connections: [Connection] { engine.connections }

    /// The number of connections of which at least one side is open.
    public var openConnectionCount: Int { engine.openConnectionCount }

    /// The first connection that matches; waits for it if there is none yet. Connections change while they are open,
    /// and may match later.
    ///
    /// - Parameters:
    ///   - after: where to begin: with the connection after this index, or with the oldest that is kept, which is the
    ///     default.
    ///   - timeout: how long to wait, in real time. Default: 10 s.
    ///   - matches: is called in the caller's task. Default: every connection matches.
    /// - Throws: ``PusherTestServer/PusherTestServer/ServerError`` with
    ///   ``PusherTestServer/PusherTestServer/ServerError/Code/timeout``, or `CancellationError`.
    @discardableResult
    public func nextConnection(
        after: Connection? = nil,
        timeout: Duration = .seconds(10),
        where matches: (Connection) -> Bool = { _ in true }
    ) async throws -> Connection {
        let start = after.map { $0.index + 1 } ?? 0
        return try await engine.changes.wait(timeout: timeout, for: "a matching connection to the relay") {
            var index = start
            while let connection = engine.connection(from: index) {
                if matches(connection) { return connection }
                index = connection.index + 1
            }
            return nil
        }
    }

    /// Waits until exactly this many connections are open.
    ///
    /// - Parameters:
    ///   - count: the number; 0 waits until all have ended.
    ///   - timeout: how long to wait, in real time. Default: 10 s.
    /// - Throws: ``PusherTestServer/PusherTestServer/ServerError`` with
    ///   ``PusherTestServer/PusherTestServer/ServerError/Code/timeout``, or `CancellationError`.
    public func waitForOpenConnections(count: Int, timeout: Duration = .seconds(10)) async throws {
        try await engine.changes.wait(timeout: timeout, for: "\(count) open connection(s) of the relay") {
            engine.openConnectionCount == count ? () : nil
        }
    }
}
