import PusherProtocol

/// The faults that tests request. Commands for connections also affect silent connections.
extension ServerBrain {
    package mutating func closeConnections(_ target: PusherTestServer.Target, code: Int?, reason: String)
        -> [ServerAction]
    {
        for id in connections(target) { close(id, code: code, reason: reason) }
        return takeActions()
    }

    /// Drops connections without waiting for delayed messages.
    package mutating func dropConnections(_ target: PusherTestServer.Target) -> [ServerAction] {
        let unfinished = connections.filter { $0.value.phase != .open }.keys
        let current = delay
        delay = .zero
        for id in connections(target) + (target == .all ? unfinished.sorted() : []) {
            let hadWaiting = connections[id]?.outbox.isEmpty == false || connections[id]?.http?.next != nil
            connections[id]?.outbox = DelayedQueue()
            connections[id]?.http?.discardQueue()
            // The discarded queue may have contained the request to close the connection, so add this request again.
            if connections[id]?.phase == .ended, hadWaiting { enqueue(.end, to: id) } else { end(id) }
        }
        delay = current
        return takeActions()
    }

    package mutating func setSilent(_ isSilent: Bool, _ target: PusherTestServer.Target) -> [ServerAction] {
        if target == .all { self.isSilent = isSilent }
        for id in connections(target) { connections[id]?.isSilent = isSilent }
        return []
    }

    package mutating func setDelay(_ delay: Duration) -> [ServerAction] {
        self.delay = max(.zero, delay)
        return []
    }

    package mutating func failConnections(count: Int?, with fault: PusherTestServer.ConnectionFault) -> [ServerAction] {
        if let count, count <= 0 { return [] }
        // Remove the older fault without a limit. Otherwise, the new fault would never apply.
        connectionFaults.removeAll { $0.remaining == nil }
        connectionFaults.append((fault, count))
        return []
    }

    package mutating func acceptConnections() -> [ServerAction] {
        connectionFaults = []
        return []
    }

    mutating func nextConnectionFault() -> PusherTestServer.ConnectionFault? {
        guard let (fault, remaining) = connectionFaults.first else { return nil }
        if let remaining {
            if remaining > 1 { connectionFaults[0].remaining = remaining - 1 } else { connectionFaults.removeFirst() }
        }
        return fault
    }

    package mutating func setActivityTimeout(_ seconds: Int?) -> [ServerAction] {
        activityTimeout = seconds
        return []
    }

    package mutating func setIdleLimit(_ limit: PusherTestServer.Dialect.IdleLimit?) -> [ServerAction] {
        idleLimit = limit
        for id in connections(.all) { restartIdleTimer(of: id) }
        return takeActions()
    }

    package mutating func failSubscriptions(to channel: String?, with fault: PusherTestServer.SubscriptionFault?)
        -> [ServerAction]
    {
        subscriptionFaults[channel] = fault
        return []
    }

    func subscriptionFault(of channel: String) -> PusherTestServer.SubscriptionFault? {
        subscriptionFaults[channel] ?? subscriptionFaults[nil]
    }

    package mutating func sendPing(_ target: PusherTestServer.Target) -> [ServerAction] {
        for id in connections(target) { ping(id) }
        return takeActions()
    }

    package mutating func send(_ frame: OutgoingFrame, _ target: PusherTestServer.Target) -> [ServerAction] {
        for id in connections(target) { enqueue(.frame(frame), to: id) }
        return takeActions()
    }

    package mutating func sendEvent(
        _ name: String,
        data: String?,
        channel: String?,
        _ target: PusherTestServer.Target
    ) -> [ServerAction] {
        let payload = data.map { Envelope.Payload.string($0) } ?? .none
        return send(.text(dialect.text(Envelope(event: name, channel: channel, data: payload))), target)
    }

    package mutating func sendError(
        code: Int?,
        message: String,
        channel: String?,
        _ target: PusherTestServer.Target
    ) -> [ServerAction] {
        send(.text(dialect.error(code: code, message: message, channel: channel)), target)
    }
}
