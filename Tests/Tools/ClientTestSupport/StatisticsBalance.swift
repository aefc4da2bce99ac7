package import PusherClient

/// The rules that the counts of the statistics, and the retries, always satisfy.
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
        checkRetries(machine)
        let waiting = subscriptions.values.reduce(0) { $0 + machine.clientEvents.count(of: $1.id) }
        let clientEvents = statistics.clientEvents
        expect(clientEvents.waiting == waiting, "\(clientEvents), but \(waiting) are waiting")
        let isOver = clientEvents.sent + clientEvents.dropped + clientEvents.waiting
        // The client is writing the remaining events to a socket at the moment.
        let missing = clientEvents.accepted - isOver
        expect(written.map { $0 == missing } ?? (missing >= 0), "\(clientEvents), but \(missing) are missing")
    }

    /// Checks that the client is about to try again exactly if it has failed, and the app still wants the subject.
    private mutating func checkRetries(_ machine: ClientStateMachine) {
        let retries = machine.session?.retries ?? Retries()
        for subject in retries.subjects {
            let isTrying = retries[subject]?.phase == .trying
            switch subject {
            case .channel(let name):
                let phase = machine.subscriptions[name]?.phase
                var isRetrying = false
                if case .retrying? = phase { isRetrying = true }
                expect(phase != nil && isRetrying != isTrying, "\(name) is retried in \(String(describing: phase))")
            case .key(let name):
                let subscription = machine.subscriptions[name]
                expect(
                    subscription?.isRefreshingKey == true && (subscription?.keyAuthorization != nil) == isTrying,
                    "the key of \(name) is retried in \(String(describing: subscription?.decryption?.phase))"
                )
            case .signIn:
                expect(
                    machine.isSignInWanted && (machine.signIn.phase == .retrying) != isTrying,
                    "the sign-in is retried in \(machine.signIn.phase)"
                )
            case .ownChannel:
                expect(machine.signIn.user != nil, "a user's own channel is retried in \(machine.signIn.phase)")
            }
        }
        for subscription in machine.wantedSubscriptions {
            guard case .retrying = subscription.phase else { continue }
            expect(retries[.channel(subscription.name)] != nil, "nothing retries \(subscription.name)")
        }
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
        if !condition { violations.append("the state is inconsistent: \(counts())") }
    }
}
