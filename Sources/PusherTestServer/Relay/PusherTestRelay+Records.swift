extension PusherTestRelay {
    /// The current state of a connection that a client has made.
    public struct Connection: Hashable, Sendable {
        /// The connection's index in the log. The first connection of the relay has the index 0.
        public var index: Int
        /// The fault because of which the relay did not relay the connection; nil if there was no such fault.
        public var fault: ConnectionFault?
        /// The fault that blocked a WebSocket request; nil if no request was blocked.
        public var upgradeFault: UpgradeFault?
        /// The first bytes that the client sent, at most 16. TLS begins with the byte 22, and HTTP begins with a
        /// method.
        public var openingBytes: [UInt8] = []
        /// The number of bytes that the relay has received from the client.
        public var receivedFromClient = 0
        /// The number of bytes that the relay has received from the server.
        public var receivedFromServer = 0
        /// The number of bytes that the relay has dropped because of ``StreamFault/swallowed``, or after it blocked a
        /// WebSocket request, in both directions.
        public var swallowed = 0
        /// Whether at least one side is still open.
        public var isOpen = true
    }

    /// The newest connections, at most ``Options/maximumRecordCount``, oldest first.
    public var connections: [Connection] { engine.connections }

    /// The number of connections with at least one open side.
    public var openConnectionCount: Int { engine.openConnectionCount }

    /// Returns the first connection that matches. Waits if there is no such connection yet. An open connection can
    /// change, so it may match later.
    ///
    /// - Parameters:
    ///   - after: The connection after which the search begins. Default: nil, to begin with the oldest kept connection.
    ///   - timeout: The longest wait, in real time. Default: 60 s.
    ///   - matches: A closure that checks a connection, in the caller's task. Default: every connection matches.
    /// - Throws: ``PusherTestServer/PusherTestServer/ServerError`` with
    ///   ``PusherTestServer/PusherTestServer/ServerError/Code/waitTimedOut``, or `CancellationError`.
    @discardableResult
    public func nextConnection(
        after: Connection? = nil,
        timeout: Duration = .seconds(60),
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
    ///   - count: The number of connections. With 0, waits until all connections are closed.
    ///   - timeout: The longest wait, in real time. Default: 60 s.
    /// - Throws: ``PusherTestServer/PusherTestServer/ServerError`` with
    ///   ``PusherTestServer/PusherTestServer/ServerError/Code/waitTimedOut``, or `CancellationError`.
    public func waitForOpenConnections(count: Int, timeout: Duration = .seconds(60)) async throws {
        try await engine.changes.wait(timeout: timeout, for: "\(count) open connection(s) of the relay") {
            engine.openConnectionCount == count ? () : nil
        }
    }
}
