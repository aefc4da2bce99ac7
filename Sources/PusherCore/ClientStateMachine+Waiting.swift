import PusherProtocol

/// Begins and ends the waits of calls. A method `settle…` ends the waits whose outcome follows from the current state.
/// A method `resume…` ends waits with the given outcome.
extension ClientStateMachine {
    package mutating func makeWaiter() -> WaiterID { WaiterID(rawValue: nextSerial()) }

    /// Connects, and ends the wait when the client is connected, has disconnected or has stopped.
    package mutating func awaitConnection(_ waiter: WaiterID, now: Instant, into effects: inout [Effect]) {
        guard !isReleased else {
            return effects.append(.resume(waiter, .failed(.released)))
        }
        connectionWaiters.append(waiter)
        connectIfIdle(now: now, into: &effects)
    }

    /// Connects, and ends the wait when the client has disconnected or stopped.
    package mutating func connectAndAwaitEnd(_ waiter: WaiterID, now: Instant, into effects: inout [Effect]) {
        guard !isReleased else { return effects.append(.resume(waiter, .done)) }
        endWaiters.append(waiter)
        connectIfIdle(now: now, into: &effects)
    }

    /// Ends the wait when the client has disconnected or stopped. If this has already happened, the wait ends at once.
    /// Does not connect.
    package mutating func awaitEnd(_ waiter: WaiterID, into effects: inout [Effect]) {
        guard !isReleased else { return effects.append(.resume(waiter, .done)) }
        endWaiters.append(waiter)
        settleEndWaiters(into: &effects)
    }

    /// Connects, unless there is a connection, an attempt, or a wait between attempts.
    private mutating func connectIfIdle(now: Instant, into effects: inout [Effect]) {
        catchUp(now: now, into: &effects)
        switch connection.state {
        case .initialized, .disconnecting, .disconnected, .refused: connect(now: now, into: &effects)
        case .connecting, .connected, .asking, .waiting: settleConnectionWaiters(into: &effects)
        }
    }

    /// Disconnects, and ends the wait when the socket is closed.
    package mutating func awaitDisconnection(_ waiter: WaiterID, now: Instant, into effects: inout [Effect]) {
        disconnectionWaiters.append(waiter)
        disconnect(now: now, into: &effects)
    }

    /// Ends the wait when the channel is subscribed, its subscription has failed for good, or the client has stopped.
    package mutating func awaitSubscription(
        _ waiter: WaiterID,
        to name: String,
        _ id: ChannelID,
        now: Instant,
        into effects: inout [Effect]
    ) {
        guard !isReleased else {
            return effects.append(.resume(waiter, .failed(.released)))
        }
        catchUp(now: now, into: &effects)
        guard var subscription = subscriptions[name], subscription.id == id, subscription.isWanted else {
            return effects.append(.resume(waiter, .subscriptionFailed(.unsubscribed(name))))
        }
        switch subscription.phase {
        case .subscribed:
            effects.append(.resume(waiter, .done))
        case .failed(let error), .invalid(let error):
            effects.append(.resume(waiter, .subscriptionFailed(error)))
        case .idle, .authorizing, .awaitingSignIn, .queued, .subscribing, .subscribingUnwanted, .retrying:
            if let error = connection.failure { return effects.append(.resume(waiter, .failed(error))) }
            subscription.waiters.append(waiter)
            subscriptions[name] = subscription
        }
    }

    /// Ends the wait of a cancelled task.
    ///
    /// - Parameter channelName: The channel whose subscription the task waits for; nil for other waits.
    package mutating func cancelWaiter(
        _ waiter: WaiterID,
        subscribing channelName: String? = nil,
        into effects: inout [Effect]
    ) {
        if let channelName {
            let isWaiting = subscriptions.update(channelName) { $0.cancelWaiter(waiter) } ?? false
            guard isWaiting else { return }
        } else if let index = connectionWaiters.firstIndex(of: waiter) {
            connectionWaiters.remove(at: index)
        } else if let index = disconnectionWaiters.firstIndex(of: waiter) {
            disconnectionWaiters.remove(at: index)
        } else if let index = endWaiters.firstIndex(of: waiter) {
            endWaiters.remove(at: index)
        } else if let index = signInWaiters.firstIndex(of: waiter) {
            signInWaiters.remove(at: index)
        } else if sendWaiters.removeValue(forKey: waiter) != nil {
            statistics.clientEvents.dropped += clientEvents.removeItems(of: waiter)
        } else {
            return
        }
        effects.append(.resume(waiter, .cancelled))
    }

    // MARK: Outcomes

    private mutating func settleEndWaiters(into effects: inout [Effect]) {
        let outcome: WaiterOutcome
        switch connection.state {
        case .initialized, .connecting, .connected, .asking, .waiting, .disconnecting: return
        case .disconnected(nil): outcome = .done
        case .disconnected(let error?), .refused(let error): outcome = .failed(error)
        }
        for waiter in endWaiters { effects.append(.resume(waiter, outcome)) }
        endWaiters = []
    }

    /// Ends the waits whose outcome follows from the state of the connection.
    mutating func settleConnectionWaiters(into effects: inout [Effect]) {
        if connection.connectionState != .disconnecting {
            for waiter in disconnectionWaiters { effects.append(.resume(waiter, .done)) }
            disconnectionWaiters = []
        }
        let outcome: WaiterOutcome
        switch connection.state {
        case .connecting, .asking, .waiting:
            return
        case .connected(let session):
            outcome = .connected(socketID: session.value.socketID)
        case .initialized, .disconnecting, .disconnected(nil):
            outcome = .failed(.disconnected)
        case .disconnected(let error?), .refused(let error):
            outcome = .failed(error)
        }
        for waiter in connectionWaiters { effects.append(.resume(waiter, outcome)) }
        connectionWaiters = []
        settleEndWaiters(into: &effects)
        guard let error = connection.failure else { return }
        for subscription in wantedSubscriptions {
            resumeSubscriptionWaiters(of: subscription.name, .failed(error), into: &effects)
        }
        resumeSignInWaiters(.failed(error), into: &effects)
    }
}
