/// The methods that send to a connection. All messages, pongs and close frames pass through these methods. So a delay
/// affects all of them, and they keep their order.
extension ServerBrain {
    /// Sends a message on behalf of the server, unless the connection is silent.
    mutating func say(_ text: String, to id: ConnectionID) {
        guard canHear(id) else { return }
        enqueue(.frame(.text(text)), to: id)
    }

    /// Returns whether a connection gets messages. The connection must be open, and the server must not be silent on
    /// it.
    func canHear(_ id: ConnectionID) -> Bool {
        guard let connection = connections[id] else { return false }
        return connection.phase == .open && !connection.isSilent
    }

    mutating func enqueue(_ outgoing: ServerConnection.Outgoing, to id: ConnectionID) {
        guard let isEmpty = connections[id]?.outbox.isEmpty else { return }
        if delay > .zero {
            let timer = schedule(.delay(id), after: delay)
            connections[id]?.outbox.append(outgoing, id: timer.rawValue)
        } else if isEmpty {
            emit(outgoing, to: id)
        } else {
            // The element is due at once, but must follow the delayed messages. The element's id is negative, because
            // the ids of timers are positive.
            connections[id]?.lastUndelayed -= 1
            let place = connections[id]?.lastUndelayed ?? 0
            connections[id]?.outbox.append(outgoing, id: place, isDue: true)
        }
    }

    mutating func releaseOutbox(of id: ConnectionID, _ timer: TimerID) {
        for outgoing in connections[id]?.outbox.markDue(timer.rawValue) ?? [] { emit(outgoing, to: id) }
    }

    private mutating func emit(_ outgoing: ServerConnection.Outgoing, to id: ConnectionID) {
        switch outgoing {
        case .frame(let frame):
            if connections[id]?.http != nil { emit(frame, toSession: id) } else { perform(.send(id, frame)) }
            switch frame {
            case .text(let text): record(.messageSent(text), id)
            case .close(let code, let reason): record(.closeSent(code: code, reason: reason), id)
            case .binary, .ping, .pong, .rawBytes: break
            }
        case .end where connections[id]?.http != nil:
            if connections[id]?.http?.hasOpened == true { append(.end, toSessionOf: id) } else { dropSession(id) }
        case .end:
            perform(.end(id))
        }
    }

    private mutating func emit(_ frame: OutgoingFrame, toSession id: ConnectionID) {
        switch frame {
        case .text(let text): append(.text(text), toSessionOf: id)
        case .ping: append(.heartbeat, toSessionOf: id)
        case .pong: append(.acknowledgement, toSessionOf: id)
        // In WebSocket libraries, 1005 means a close frame without a code.
        case .close(let code, let reason): append(.close(code: code ?? 1005, reason: reason), toSessionOf: id)
        case .rawBytes(let bytes): append(.bytes(bytes), toSessionOf: id)
        // SockJS has no binary frames.
        case .binary: break
        }
    }
}
