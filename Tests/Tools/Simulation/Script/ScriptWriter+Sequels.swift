import TestSupport

/// Writes sequences of actions that random choice would hardly ever make.
extension ScriptWriter {
    /// Returns whether the next action happens before the effects of this action.
    mutating func hurriesOn(after action: Action) -> Bool {
        switch action {
        case .subscribe: generator.oneIn(8)
        case _ where action.losesConnection: generator.oneIn(4)
        default: false
        }
    }

    /// Returns the actions that follow at once.
    ///
    /// - Parameter isHurried: Whether the sequel happens before the effects of the action.
    mutating func sequel(of action: Action, isHurried: Bool) -> [PlannedAction] {
        switch action {
        // The app unsubscribes from a channel before the server has answered.
        case .subscribe(let name) where isHurried && generator.oneIn(2):
            return [PlannedAction(.unsubscribe(name))]
        // The app sends more client events than the server accepts in a second.
        case .trigger where generator.oneIn(4):
            return Array(repeating: PlannedAction(action, settles: false), count: 12)
        // Some servers of the backend do not have the new key yet.
        case .rotateKey where generator.oneIn(2):
            let name = encryptedChannel()
            return [
                PlannedAction(.publish(name, event: "first"), settles: generator.oneIn(2)),
                PlannedAction(.publishWithOldKey(name)),
            ]
        // The connection is lost while the client sends client events.
        case .slowWrites(let milliseconds) where milliseconds > 0 && generator.oneIn(2):
            let triggers = Array(repeating: PlannedAction(.trigger(channel())), count: 3)
            return triggers + [PlannedAction(draw([.cut(heardAfter: 0), .dropConnections, .reconnectNow]))]
        // The server notices the end of the old connection after it has accepted the next connection.
        case .goDeaf(_, toServer: true) where generator.oneIn(2):
            return [PlannedAction(.reconnectNow), PlannedAction(.advance(milliseconds: 30_000))]
        case .fallAsleep:
            return whileAsleep()
        // The app makes a call before the client notices a loss.
        case _ where action.losesConnection && isHurried:
            return [PlannedAction(draw([.reconnectNow, .switchEndpoint, .disconnect]))]
        // A disconnected client tests little, so it connects again.
        case _ where action.endsConnection && generator.oneIn(2):
            let pause = generator.oneIn(2) ? [PlannedAction(.advance(milliseconds: 2_500))] : []
            return pause + [PlannedAction(.connect, settles: !generator.oneIn(4))]
        default:
            return []
        }
    }

    /// Returns the actions while the client sleeps, until it wakes.
    private mutating func whileAsleep() -> [PlannedAction] {
        var actions: [PlannedAction] = []
        for _ in 0..<Int.random(in: 1...3, using: &generator) {
            let kind = draw([Kind.passing, .passing, .members, .publishing, .losses, .restarts, .closing])
            actions.append(PlannedAction(action(kind)))
        }
        return actions + [PlannedAction(.wake)]
    }
}

extension Action {
    fileprivate var losesConnection: Bool {
        switch self {
        case .cut, .close, .dropConnections: true
        default: false
        }
    }

    fileprivate var endsConnection: Bool {
        switch self {
        case .disconnect, .dropClient, .await(.disconnected): true
        default: false
        }
    }
}
