package import PusherClient

/// The rules that the counts of the statistics always satisfy.
package struct StatisticsBalance {
    /// The rules that are violated; empty if there are none.
    package private(set) var violations: [String] = []

    /// - Parameters:
    ///   - machine: The machine with the statistics.
    ///   - attempts: The number of sockets that the machine has requested.
    ///   - written: The number of client events that are being written to a socket; nil if the number is unknown.
    package init(_ machine: ClientStateMachine, attempts: Int, written: Int? = nil) {
        let statistics = machine.statistics(now: Instant())
        check(statistics.connections, machine.connection, attempts)
        let (events, authorizations) = (statistics.events, statistics.authorizations)
        let isLost = events.dropped[.notSubscribed, default: 0] + events.dropped[.notConnected, default: 0]
        expect(events.received == events.delivered + events.undecryptable + events.held + isLost, "\(events)")
        let held = machine.subscriptions.values.reduce(0) { $0 + ($1.decryption?.held.count ?? 0) }
        expect(events.held == held, "\(events), but the client holds \(held)")
        let isDone = authorizations.succeeded + authorizations.failed + authorizations.cancelled
        expect(authorizations.begun == isDone + machine.authorizations.jobs.count, "\(authorizations)")
        expect(authorizations.latency.count == authorizations.succeeded, "\(authorizations)")
        let subscriptions = machine.subscriptions
        expect(
            subscriptions.subscribedCount == subscriptions.values.count(where: \.isSubscribed)
                && subscriptions.wantedCount == subscriptions.values.count(where: \.isWanted),
            "\(subscriptions.subscribedCount) of \(subscriptions.wantedCount) wanted channels are subscribed"
        )
        let waiting = subscriptions.values.reduce(0) { $0 + machine.clientEvents.count(of: $1.id) }
        let clientEvents = statistics.clientEvents
        expect(clientEvents.waiting == waiting, "\(clientEvents), but \(waiting) are waiting")
        let isOver = clientEvents.sent + clientEvents.dropped + clientEvents.waiting
        // The client is writing the remaining events to a socket at the moment.
        let missing = clientEvents.accepted - isOver
        expect(written.map { $0 == missing } ?? (missing >= 0), "\(clientEvents), but \(missing) are missing")
    }

    private mutating func check(
        _ connections: PusherStatistics.Connections,
        _ connection: ConnectionStateMachine,
        _ attempts: Int
    ) {
        var underWay = 0
        if case .connecting = connection.state { underWay = 1 }
        let failed = connections.failedAttempts.values.reduce(0, +)
        let lost = connections.lost.values.reduce(0, +)
        expect(connections.attempts == attempts, "\(connections), but the machine has requested \(attempts) sockets")
        expect(
            attempts == connections.established + failed + connections.abandonedAttempts + underWay,
            "\(connections)"
        )
        expect(
            connections.established == lost + connections.closed + (connection.isConnected ? 1 : 0),
            "\(connections)"
        )
        expect(connections.recovery.count <= lost, "\(connections)")
    }

    private mutating func expect(_ condition: Bool, _ counts: @autoclosure () -> String) {
        if !condition { violations.append("the counts are inconsistent: \(counts())") }
    }
}
