import PusherProtocol

/// The counts. No decision depends on them.
extension ClientStateMachine {
    /// All that the machine has counted; what only the shell knows is missing.
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

    /// An event is delivered as it came.
    package mutating func countDelivered() {
        statistics.events.received += 1
        statistics.events.delivered += 1
    }

    /// Counts a client event that was not accepted.
    package mutating func countRefusedClientEvent() { statistics.clientEvents.refused += 1 }

    /// Counts a message of the app's own that was not sent.
    package mutating func countUnsentMessage() { statistics.messages.unsent += 1 }

    /// A message came that there is no connection for.
    mutating func countDropped(_ envelope: Envelope) {
        guard !EventName.isProtocolEvent(envelope.event) else { return countIgnored() }
        statistics.events.received += 1
        statistics.events.dropped[.notConnected, default: 0] += 1
    }

    /// A message of the protocol has no effect.
    mutating func countIgnored() { statistics.messages.ignored += 1 }

    /// Counts held events that are dropped with their channel.
    mutating func countDroppedHeld(_ count: Int) {
        guard count > 0 else { return }
        statistics.events.held -= count
        statistics.events.dropped[.notSubscribed, default: 0] += count
    }

    // MARK: Single times

    /// From now on each duration is kept until ``takeSamples()``.
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
