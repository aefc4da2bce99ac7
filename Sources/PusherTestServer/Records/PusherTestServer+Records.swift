extension PusherTestServer {
    /// The newest records, oldest first: at most ``Options/maximumRecordCount``.
    public var records: [Record] { engine.records }

    /// The texts that clients have sent, oldest first, of one connection or of all.
    public func receivedMessages(from socketID: String? = nil) -> [String] {
        records.compactMap { record in
            guard socketID == nil || record.socketID == socketID, case .messageReceived(let text) = record.event
            else { return nil }
            return text
        }
    }

    /// The bodies of the webhooks so far, oldest first, including webhooks that could not be sent.
    public var webhooks: [String] {
        records.compactMap { record in
            guard case .webhookIssued(let body) = record.event else { return nil }
            return body
        }
    }

    /// All records from the oldest that is kept, and then each new one as it is made.
    ///
    /// The sequence ends when its task is cancelled. A reader that is slower than the server's log loses the oldest
    /// records.
    public var recordSequence: RecordSequence { RecordSequence(engine: engine) }

    /// The connections that are open now, oldest first.
    public var connections: [Connection] { engine.read { $0.openConnections } }

    /// The number of connections that are subscribed to a channel now.
    public func subscriptionCount(of channel: String) -> Int { engine.read { $0.connectionCount(of: channel) } }

    /// The first record that matches; waits for it if there is none yet.
    ///
    /// - Parameters:
    ///   - after: where to begin: with the record after this index, or with the oldest that is kept, which is the
    ///     default.
    ///   - timeout: how long to wait, in real time. Default: 10 s.
    ///   - matches: is called in the caller's task.
    /// - Throws: ``ServerError`` with ``ServerError/Code/timeout``, or `CancellationError`.
    @discardableResult
    public func nextRecord(
        after: Record? = nil,
        timeout: Duration = .seconds(10),
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

    /// Waits until at least this many connections are open and have their socket ids.
    ///
    /// - Parameters:
    ///   - count: the least number. Default: 1.
    ///   - timeout: how long to wait, in real time. Default: 10 s.
    /// - Returns: the connections, oldest first.
    /// - Throws: ``ServerError`` with ``ServerError/Code/timeout``, or `CancellationError`.
    @discardableResult
    public func waitForConnections(count: Int = 1, timeout: Duration = .seconds(10)) async throws -> [Connection] {
        try await engine.wait(timeout: timeout, for: "\(count) open connection(s)") {
            let established = connections.filter(\.isEstablished)
            return established.count >= count ? established : nil
        }
    }

    /// Waits until at least this many connections are subscribed to a channel.
    ///
    /// - Parameters:
    ///   - channel: the channel's name.
    ///   - count: the least number. Default: 1.
    ///   - timeout: how long to wait, in real time. Default: 10 s.
    /// - Returns: the connections that are subscribed, oldest first.
    /// - Throws: ``ServerError`` with ``ServerError/Code/timeout``, or `CancellationError`.
    @discardableResult
    public func waitForSubscription(
        to channel: String,
        count: Int = 1,
        timeout: Duration = .seconds(10)
    ) async throws -> [Connection] {
        try await engine.wait(timeout: timeout, for: "\(count) subscription(s) to channel \(channel)") {
            let subscribed = connections.filter { $0.subscribedChannels.contains(channel) }
            return subscribed.count >= count ? subscribed : nil
        }
    }
}
