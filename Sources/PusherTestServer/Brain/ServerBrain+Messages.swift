import PusherProtocol

/// Messages of clients.
extension ServerBrain {
    package mutating func received(_ message: ClientMessage, on id: ConnectionID) -> [ServerAction] {
        hear(message, on: id)
        return takeActions()
    }

    mutating func hear(_ message: ClientMessage, on id: ConnectionID) {
        // A copy of the connection would make each change below copy the connection's channels.
        guard let phase = connections[id]?.phase, phase == .open || phase == .closing else { return }
        note(message, on: id)
        if case .violation(let code, let reason) = message {
            if phase == .open { close(id, code: code, reason: reason) } else { end(id) }
        } else if case .close(let code, _) = message {
            closeReceived(code: code, on: id)
        } else if phase == .open {
            clientWasActive(id)
            if connections[id]?.isSilent == false { obey(message, on: id) }
        }
    }

    private mutating func note(_ message: ClientMessage, on id: ConnectionID) {
        switch message {
        case .text(let text): record(.messageReceived(text), id)
        case .binary(let bytes): record(.binaryReceived(bytes), id)
        case .ping(let payload): record(.pingReceived(payload), id)
        case .pong(let payload): record(.pongReceived(payload), id)
        case .close(let code, let reason): record(.closeReceived(code: code, reason: reason), id)
        case .violation: break
        }
    }

    private mutating func closeReceived(code: Int?, on id: ConnectionID) {
        guard let connection = connections[id] else { return }
        if connection.phase == .open {
            // A silent server does not answer the close frame.
            if connection.isSilent { return }
            enqueue(.frame(.close(code: code, reason: "")), to: id)
        }
        end(id)
    }

    private mutating func obey(_ message: ClientMessage, on id: ConnectionID) {
        switch message {
        case .text where !takeMessageAllowance(of: id):
            record(.messageRejected, id)
            guard options.messageLimit?.endsConnection != true else { return end(id) }
            say(dialect.error(code: 4301, message: "Rate limit exceeded"), to: id)
        case .text(let text):
            do {
                obey(try Envelope(decoding: text), on: id)
            } catch {
                reportInvalidMessage("Invalid message format: \(error)", on: id)
            }
        case .binary:
            reportInvalidMessage("Invalid message format: binary messages are not supported", on: id)
        case .ping(let payload):
            enqueue(.frame(.pong(payload)), to: id)
        case .pong, .close, .violation:
            break
        }
    }

    private mutating func obey(_ message: Envelope, on id: ConnectionID) {
        switch message.event {
        case EventName.subscribe: subscribe(message, on: id)
        case EventName.unsubscribe: unsubscribe(message, on: id)
        case EventName.ping: say(dialect.pong, to: id)
        case EventName.pong: break
        case let event where EventName.isClientEvent(event):
            relayClientEvent(message, on: id)
        case EventName.signIn: signIn(message, on: id)
        case let event: reportUnknownEvent(event, on: id)
        }
    }

    mutating func reportUnknownEvent(_ event: String, on id: ConnectionID) {
        reportInvalidMessage("Unknown event: \(event.prefix(EventName.maximumLength))", on: id)
    }

    func isSubscribed(_ id: ConnectionID, to channel: String) -> Bool {
        connections[id]?.channels.contains(channel) ?? false
    }

    mutating func reportInvalidMessage(_ message: String, on id: ConnectionID) {
        say(dialect.error(code: dialect.invalidMessageCode, message: dialect.invalidMessage ?? message), to: id)
    }

    /// Counts a message. Returns false if the connection has reached its limit.
    private mutating func takeMessageAllowance(of id: ConnectionID) -> Bool {
        guard let limit = options.messageLimit else { return true }
        var window = connections[id]?.messageWindow ?? (now, 0)
        if now - window.start >= limit.window { window = (now, 0) }
        guard window.count < limit.count else { return false }
        window.count += 1
        connections[id]?.messageWindow = window
        return true
    }
}
