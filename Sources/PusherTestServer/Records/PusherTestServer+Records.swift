extension PusherTestServer {
    /// The newest records, oldest first. ``Options/maximumRecordCount`` limits their number.
    public var records: [Record] { engine.records }

    /// Returns the text messages that clients have sent on one connection or on all connections, oldest first.
    public func receivedMessages(from socketID: String? = nil) -> [String] {
        records.compactMap { record in
            guard socketID == nil || record.socketID == socketID, case .messageReceived(let text) = record.event
            else { return nil }
            return text
        }
    }

    /// The bodies of all webhooks so far, oldest first. The list includes webhooks that the server could not send.
    public var webhooks: [String] {
        records.compactMap { record in
            guard case .webhookIssued(let body) = record.event else { return nil }
            return body
        }
    }

    /// A sequence of the kept records, oldest first, and then of each new record.
    ///
    /// The sequence ends when the reader's task is cancelled. A reader that is too slow misses the records that the
    /// server has removed.
    public var recordSequence: RecordSequence { RecordSequence(engine: engine) }

    /// The connections that are open now, oldest first.
    public var connections: [Connection] { engine.read { $0.openConnections } }

    /// Returns the number of connections that are subscribed to a channel now.
    public func subscriptionCount(of channel: String) -> Int { engine.read { $0.connectionCount(of: channel) } }

    /// Returns the first record that matches. Waits if there is no such record yet.
    ///
    /// - Parameters:
    ///   - after: The record after which the search begins. Default: nil, to begin with the oldest kept record.
    ///   - timeout: The longest wait, in real time. Default: 60 s.
    ///   - matches: A closure that checks a record, in the caller's task.
    /// - Throws: ``ServerError`` with ``ServerError/Code/waitTimedOut``, or `CancellationError`.
    @discardableResult
    public func nextRecord(
        after: Record? = nil,
        timeout: Duration = .seconds(60),
        where matches: (Record) -> Bool
    ) async throws -> Record {
        var index = after.map { $0.index + 1 } ?? 0
        return try await engine.wait(timeout: timeout, for: "a matching record") {
            while let record = engine.record(from: index) {
                if matches(record) { return record }
                index = record.index + 1
            }
            return nil
        }
    }

    /// Waits until the server has sent `pusher:connection_established` on at least this many open connections.
    ///
    /// - Parameters:
    ///   - count: The minimum number of connections. Default: 1.
    ///   - timeout: The longest wait, in real time. Default: 60 s.
    /// - Returns: The connections, oldest first.
    /// - Throws: ``ServerError`` with ``ServerError/Code/waitTimedOut``, or `CancellationError`.
    @discardableResult
    public func waitForConnections(count: Int = 1, timeout: Duration = .seconds(60)) async throws -> [Connection] {
        try await engine.wait(timeout: timeout, for: "\(count) open connection(s)") {
            engine.read { $0.openConnections(.all, atLeast: count) { $0.isEstablished } }
        }
    }

    /// Waits until at least this many connections are subscribed to a channel.
    ///
    /// - Parameters:
    ///   - channel: The channel's name.
    ///   - count: The minimum number of connections. Default: 1.
    ///   - timeout: The longest wait, in real time. Default: 60 s.
    /// - Returns: The subscribed connections, oldest first.
    /// - Throws: ``ServerError`` with ``ServerError/Code/waitTimedOut``, or `CancellationError`.
    @discardableResult
    public func waitForSubscription(
        to channel: String,
        count: Int = 1,
        timeout: Duration = .seconds(60)
    ) async throws -> [Connection] {
        try await engine.wait(timeout: timeout, for: "\(count) subscription(s) to channel \(channel)") {
            engine.read { $0.openConnections(.subscribers(of: channel), atLeast: count) }
        }
    }
}
