import PusherProtocol

/// Keeps the counts. No decision depends on them. Each machine counts its own decisions, so tests of the machines check
/// the counts, and equal inputs give equal counts. Metrics are the changes of these counts, so the two cannot disagree.
extension ClientStateMachine {
    /// Returns all counts of the machine, without the counts that only the shell has.
    package func statistics(now: Instant) -> PusherStatistics {
        var statistics = statistics
        statistics.connections = connection.statistics(now: now)
        statistics.authorizations.latency = statistics.authorizations.latency.summary
        statistics.pings.roundTrip = statistics.pings.roundTrip.summary
        statistics.pings.keepAliveInterval = keepAlive.interval
        statistics.subscriptions.current = subscriptions.subscribedCount
        statistics.clientEvents.waiting = clientEvents.count
        return statistics
    }

    /// Counts an event that is delivered unchanged.
    package mutating func countDelivered() {
        statistics.events.received += 1
        statistics.events.delivered += 1
    }

    /// Counts a client event that the client did not accept.
    package mutating func countRejectedClientEvent() { statistics.clientEvents.rejected += 1 }

    /// Counts a message of the app that was not sent.
    package mutating func countUnsentMessage() { statistics.messages.unsent += 1 }

    /// Counts a message that arrived without a connection.
    mutating func countDropped(_ envelope: Envelope) {
        guard !EventName.isProtocolEvent(envelope.event) else { return countIgnored() }
        statistics.events.received += 1
        statistics.events.dropped[.notConnected, default: 0] += 1
    }

    /// Counts a message of the protocol without an effect.
    mutating func countIgnored() { statistics.messages.ignored += 1 }

    /// Counts held events that are dropped with their channel.
    mutating func countDroppedHeld(_ count: Int) {
        guard count > 0 else { return }
        statistics.events.held -= count
        statistics.events.dropped[.notSubscribed, default: 0] += count
    }

    // MARK: Single times

    /// Keeps the durations from now on, at most 10,000 of each timing, until ``takeSamples()`` returns them.
    package mutating func keepSamples() {
        connection.statistics.recovery.keepSamples()
        statistics.authorizations.latency.keepSamples()
        statistics.pings.roundTrip.keepSamples()
    }

    package struct Samples: Hashable, Sendable {
        package var recovery: [Duration]
        package var authorizationLatency: [Duration]
        package var pingRoundTrip: [Duration]
    }

    package mutating func takeSamples() -> Samples {
        Samples(
            recovery: connection.statistics.recovery.takeSamples(),
            authorizationLatency: statistics.authorizations.latency.takeSamples(),
            pingRoundTrip: statistics.pings.roundTrip.takeSamples()
        )
    }
}
