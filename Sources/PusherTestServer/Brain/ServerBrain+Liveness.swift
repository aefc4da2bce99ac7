/// The server's own pings.
extension ServerBrain {
    mutating func restartPingTimer(of id: ConnectionID) {
        guard let interval = options.pingInterval, let connection = connections[id], connection.phase == .open
        else { return }
        cancel(connection.pingTimer)
        let timer = schedule(.ping(id), after: interval)
        connections[id]?.pingTimer = timer
    }

    /// Anything that a client sends shows that it is alive.
    mutating func clientWasActive(_ id: ConnectionID) {
        cancel(connections[id]?.pongTimer)
        connections[id]?.pongTimer = nil
        restartPingTimer(of: id)
    }

    mutating func pingTimerFired(on id: ConnectionID) {
        connections[id]?.pingTimer = nil
        if connections[id]?.isSilent == true { restartPingTimer(of: id) } else { ping(id) }
    }

    /// A server that has gone silent says nothing of this either.
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
