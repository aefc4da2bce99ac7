import PusherProtocol

/// Handles the calls with which the app checks or replaces the connection, or changes the server. The connection's
/// machine reconnects after a loss.
extension ClientStateMachine {
    /// Checks the connection now. If the client waits before an attempt, the attempt starts now. In other states
    /// without a connection, the method does nothing.
    ///
    /// - Parameter timeout: The time limit for the server's answer, at most ``PusherTimeouts/pong``.
    package mutating func checkConnection(timeout: Duration, now: Instant, into effects: inout [Effect]) {
        switch connection.state {
        case .asking, .waiting:
            connect(now: now, into: &effects)
        case .connected:
            // The app may call this method because it has noticed a change that breaks connections, such as a new
            // network. A loss soon after this call is therefore no sign of an idle limit.
            let patience = min(timeout, configuration.timeouts.pong)
            connection.session?.clientSilence.expectLoss(until: now + patience + LivenessStateMachine.longestTimerDelay)
            perform(connection.session?.liveness.probe(timeout: timeout, now: now), now: now, into: &effects)
        case .initialized, .connecting, .disconnecting, .disconnected, .refused:
            break
        }
    }

    /// Drops the connection or attempt, and connects.
    package mutating func reconnectNow(now: Instant, into effects: inout [Effect]) {
        guard !isReleased else { return }
        perform(connection.reconnectNow(configuration, now: now), now: now, into: &effects)
    }

    /// Uses another server from now on. Connects at once if the app wants a connection.
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
