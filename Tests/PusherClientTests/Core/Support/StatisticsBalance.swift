import PusherClient

/// What must hold between the counts, whatever has happened: nothing gets lost between them.
struct StatisticsBalance {
    private(set) var violations: [String] = []

    /// - Parameter attempts: How many sockets the machine asked for.
    init(_ machine: ClientStateMachine, attempts: Int) {
        let statistics = machine.statistics(now: Instant())
        check(statistics.connections, machine.connection, attempts)
        let (events, authorizations) = (statistics.events, statistics.authorizations)
        let isLost = events.dropped[.notSubscribed, default: 0] + events.dropped[.notConnected, default: 0]
        expect(events.received == events.delivered + events.undecryptable + events.held + isLost, "\(events)")
        let held = machine.subscriptions.values.reduce(0) { $0 + ($1.decryption?.held.count ?? 0) }
        expect(events.held == held, "\(events) where \(held) are held")
        let isDone = authorizations.succeeded + authorizations.failed + authorizations.cancelled
        expect(authorizations.begun == isDone + machine.authorizations.jobs.count, "\(authorizations)")
        expect(authorizations.latency.count == authorizations.succeeded, "\(authorizations)")
        let clientEvents = statistics.clientEvents
        let isOver = clientEvents.sent + clientEvents.dropped + clientEvents.waiting
        // What is missing is on its way to a socket.
        expect(isOver <= clientEvents.accepted, "\(clientEvents)")
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
        expect(connections.attempts == attempts, "\(connections) where \(attempts) sockets were opened")
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
        if !condition { violations.append("the counts do not add up: \(counts())") }
    }
}
