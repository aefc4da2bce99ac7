import PusherProtocol

/// Calls of an app that knows more than the client: the app is in the foreground again, or the network has changed.
extension ClientStateMachine {
    /// Checks the connection now. If the app wants a connection and there is none, the client connects.
    ///
    /// - Parameter timeout: How long the server may take to answer.
    package mutating func checkConnection(timeout: Duration, now: Instant, into effects: inout [Effect]) {
        switch connection.state {
        case .asking, .waiting:
            connect(now: now, into: &effects)
        case .connected:
            // The app knows of an event that may have broken the connection.
            let patience = min(timeout, configuration.timeouts.pong)
            session?.silence.expectLoss(until: now + patience + LivenessStateMachine.longestTimerDelay)
            perform(session?.liveness.probe(timeout: timeout, now: now), now: now, into: &effects)
        case .initialized, .connecting, .disconnecting, .disconnected, .refused:
            break
        }
    }

    /// Drops the connection or attempt, and connects.
    package mutating func reconnectNow(now: Instant, into effects: inout [Effect]) {
        guard !isReleased else { return }
        perform(connection.reconnectNow(configuration, now: now), now: now, into: &effects)
    }

    /// Connects to another server from now on: at once if a connection is wanted.
    package mutating func switchTo(_ request: TransportRequest, now: Instant, into effects: inout [Effect]) {
        if let old = try? configuration.endpoint.get(), old.host != request.host || old.port != request.port {
            keepAlive.forget()
        }
        configuration.endpoint = .success(request)
        perform(connection.forgetServer(), now: now, into: &effects)
        if connection.isWanted { reconnectNow(now: now, into: &effects) }
        connection.setAttemptCounts(to: 0)
        pace = SubscriptionPace()
    }
}
