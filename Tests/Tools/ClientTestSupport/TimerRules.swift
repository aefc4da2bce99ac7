package import PusherClient

/// The timers that may run, and the timers that must run, in a state of the connection.
package struct TimerRules {
    private let required: [TimerID.Purpose]
    private let allowed: [TimerID.Purpose]
    private let isConnected: Bool
    private let state: String

    package init(_ state: ConnectionStateMachine.State) {
        (required, allowed, isConnected, self.state) =
            switch state {
            case .initialized: ([], [], false, "initialized")
            case .disconnected: ([], [], false, "disconnected")
            case .refused: ([], [], false, "refused")
            case .connecting: ([.attempt], [.attempt, .unavailable], false, "connecting")
            case .connected:
                (
                    [],
                    [
                        .activity, .pong, .keepAlive, .subscription, .subscriptionPace, .authorization, .signIn,
                        .ownChannel, .nextTry,
                        .clientEvents,
                    ], true,
                    "connected"
                )
            case .asking: ([], [.unavailable], false, "asking")
            case .waiting: ([.retry], [.retry, .unavailable], false, "waiting")
            case .disconnecting: ([.closing], [.closing], false, "disconnecting")
            }
    }

    /// Returns the violated rules of the running timers, or nil.
    package func problem(with running: [TimerID.Purpose]) -> String? {
        let isSound =
            required.allSatisfy(running.contains)
            && running.allSatisfy { purpose in
                let isOfMany = [.authorization, .nextTry].contains(purpose)
                return allowed.contains(purpose) && (isOfMany || running.count { $0 == purpose } == 1)
            }
        guard isSound else { return "in the state \(state), the wrong timers run: \(running)" }
        guard isConnected, running.contains(.activity) == running.contains(.pong) else { return nil }
        return "no timer checks that the server still answers: \(running)"
    }
}
