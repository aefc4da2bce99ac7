/// The server's pings and its idle limit.
extension ServerBrain {
    mutating func restartPingTimer(of id: ConnectionID) {
        guard let interval = options.pingInterval, let connection = connections[id], connection.phase == .open
        else { return }
        cancel(connection.pingTimer)
        let timer = schedule(.ping(id), after: interval)
        connections[id]?.pingTimer = timer
    }

    /// Handles a frame as a sign that the client is alive.
    mutating func clientWasActive(_ id: ConnectionID) {
        cancel(connections[id]?.pongTimer)
        connections[id]?.pongTimer = nil
        restartPingTimer(of: id)
        connections[id]?.lastActivity = now
    }

    /// Measures the client's silence from now on.
    mutating func restartIdleTimer(of id: ConnectionID) {
        cancel(connections[id]?.idleTimer)
        connections[id]?.idleTimer = nil
        connections[id]?.lastActivity = now
        if let idleLimit { scheduleIdleTimer(of: id, after: idleLimit.duration) }
    }

    private mutating func scheduleIdleTimer(of id: ConnectionID, after delay: Duration) {
        guard connections[id]?.phase == .open else { return }
        let timer = schedule(.idle(id), after: max(delay, .milliseconds(1)))
        connections[id]?.idleTimer = timer
    }

    mutating func idleTimerFired(on id: ConnectionID) {
        connections[id]?.idleTimer = nil
        guard let idleLimit, let connection = connections[id], connection.phase == .open else { return }
        // A silent server does not close the connection, even if the client is silent for too long.
        if connection.isSilent { return restartIdleTimer(of: id) }
        let silence = now - connection.lastActivity
        guard silence >= idleLimit.duration else {
            return scheduleIdleTimer(of: id, after: idleLimit.duration - silence)
        }
        switch idleLimit.ending {
        case .close(let code, let reason): close(id, code: code, reason: reason)
        case .drop: end(id)
        }
    }

    mutating func pingTimerFired(on id: ConnectionID) {
        connections[id]?.pingTimer = nil
        if connections[id]?.isSilent == true { restartPingTimer(of: id) } else { ping(id) }
    }

    /// Closes a connection whose client has not answered a ping, unless the server is silent.
    mutating func pongTimerFired(on id: ConnectionID) {
        connections[id]?.pongTimer = nil
        guard let connection = connections[id], connection.phase == .open, !connection.isSilent else { return }
        refuse(id, code: 4201, message: "Pong reply not received in time")
    }

    mutating func ping(_ id: ConnectionID) {
        enqueue(.frame(.text(dialect.ping)), to: id)
        cancel(connections[id]?.pingTimer)
        cancel(connections[id]?.pongTimer)
        connections[id]?.pingTimer = nil
        let timer = schedule(.pong(id), after: delay + options.pongTimeout)
        connections[id]?.pongTimer = timer
    }
}
