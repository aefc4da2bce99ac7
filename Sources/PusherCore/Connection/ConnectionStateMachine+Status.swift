extension ConnectionStateMachine {
    /// What ``ConnectionStatus`` says to the application, in the machine's own time.
    package enum Status: Hashable, Sendable {
        case initialized
        case connecting
        case connected(socketID: String)
        case unavailable(reason: PusherClientError?)
        case waiting(until: Instant, attempt: Int, reason: PusherClientError)
        case refused(PusherClientError)
        case disconnecting
        case disconnected(reason: PusherClientError?)
    }
}

extension ConnectionStatus {
    /// - Parameter origin: That of the machine's time.
    package init(_ status: ConnectionStateMachine.Status, since origin: ContinuousClock.Instant) {
        switch status {
        case .initialized: self = .initialized
        case .connecting: self = .connecting
        case .connected(let socketID): self = .connected(socketID: socketID)
        case .unavailable(let reason): self = .unavailable(reason: reason)
        case .waiting(let until, let attempt, let reason):
            self = .waiting(until: until.value(since: origin), attempt: attempt, reason: reason)
        case .refused(let error): self = .refused(error)
        case .disconnecting: self = .disconnecting
        case .disconnected(let reason): self = .disconnected(reason: reason)
        }
    }
}
