/// Counts the outcomes of attempts and connections. No decision depends on these counts.
extension ConnectionStateMachine {
    package func statistics(now: Instant) -> PusherStatistics.Connections {
        var statistics = statistics
        statistics.recovery = statistics.recovery.summary
        if let session { statistics.timeConnected += now - session.since }
        return statistics
    }

    /// Counts a new connection. Call this method before ``endOutage()``.
    mutating func countEstablished(over transport: TransportReport, now: Instant) {
        statistics.established += 1
        statistics.establishedOver[transport.transport, default: 0] += 1
        statistics.transport = transport.transport
        statistics.unusedTransports = transport.unused
        if let since = lostAt ?? outage?.since { lastOutage = now - since }
        if let lostAt { statistics.recovery.add(now - lostAt) }
        lostAt = nil
    }

    /// Counts a connection that the app closed, or an attempt that the app cancelled.
    mutating func countEnd(now: Instant) {
        switch state {
        case .connecting: statistics.abandonedAttempts += 1
        case .connected(let session):
            statistics.closed += 1
            statistics.timeConnected += now - session.value.since
        case .initialized, .asking, .waiting, .disconnecting, .disconnected, .refused: break
        }
    }

    /// Counts a lost or replaced connection, or a failed attempt.
    mutating func countLoss(_ reason: PusherStatistics.LossReason, now: Instant) {
        switch state {
        case .connecting: statistics.failedAttempts[reason, default: 0] += 1
        case .connected(let session):
            statistics.lost[reason, default: 0] += 1
            statistics.timeConnected += now - session.value.since
            // If the app replaced the connection, the time until the next connection is not a recovery.
            if reason != .replaced { lostAt = now }
        case .initialized, .asking, .waiting, .disconnecting, .disconnected, .refused: break
        }
    }
}
