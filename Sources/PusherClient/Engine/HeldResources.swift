import NIOCore

/// The objects that a client holds at the moment, for tests that look for leaks.
package struct HeldResources: Sendable {
    package var timers: [TimerID.Purpose]
    /// Timers that repeat the status.
    package var countdowns: Int
    /// Whether channels hold events for a limited time.
    package var holdsEvents: Bool
    package var sockets: [AttemptID]
    /// Requests to authorizers that are under way.
    package var authorizations: Int
    /// The authorization tries that are under way.
    package var tries: Int
    /// Calls that wait.
    package var waiters: Int
    package var channels: Int
    /// Effects that the engine has not carried out yet.
    package var effects: Int

    /// Whether nothing is under way. This must be true when the client is disconnected.
    package var isIdle: Bool {
        timers.isEmpty && countdowns == 0 && !holdsEvents && sockets.isEmpty && authorizations == 0
    }
}

extension ClientEngine {
    /// The current resources. Only the event loop may read this property.
    package var resources: HeldResources {
        let (waiters, channels, effects) = read { ($0.waiters.count, $0.channels.count, $0.pending.count) }
        let loopState = loopState.value
        return HeldResources(
            timers: loopState.timers.purposes,
            countdowns: loopState.countdowns.timerCount,
            holdsEvents: loopState.holdings.hasTimer,
            sockets: Array(loopState.connections.keys),
            authorizations: loopState.authorizations.count,
            tries: loopState.authorizations.unansweredCount,
            waiters: waiters,
            channels: channels,
            effects: effects
        )
    }

    package var machine: ClientStateMachine { read { $0.machine } }
}
