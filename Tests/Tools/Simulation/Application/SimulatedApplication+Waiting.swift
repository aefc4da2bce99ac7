import NIOConcurrencyHelpers
import PusherClient

/// Tasks that wait.
extension SimulatedApplication {
    func await(_ awaited: Action.Awaited) {
        guard let pusher else { return }
        switch awaited {
        case .connected:
            begin(awaited) { application in
                guard application.pusher === pusher, !Task.isCancelled else { return }
                application.willAsk(forConnection: true, inTask: true)
                let before = application.state.withLockedValue { state in
                    state.connectedCount - (state.connectionState == .connected ? 1 : 0)
                }
                try await pusher.connected()
                let count = application.state.withLockedValue { $0.connectedCount }
                application.violations.check(count > before, "connected() returns without a connection")
            }
        case .disconnected:
            begin(awaited) { application in
                guard application.pusher === pusher, !Task.isCancelled else { return }
                application.willAsk(forConnection: false, inTask: true)
                await pusher.disconnected()
            }
        case .subscribed(let name):
            guard let channel = channel(name) else { return }
            begin(awaited) { application in
                // A reaction may end the connection, and with it the callbacks of the read that reports a subscription.
                func count() -> Int {
                    application.state.withLockedValue { ($0.subscribedCounts[name] ?? 0) + $0.reactionCount }
                }
                let before = count() - (channel.subscribed ? 1 : 0)
                try await channel.subscribed()
                application.violations.check(count() > before, "subscribed() of \(name) returns without a subscription")
            }
        case .signedIn:
            begin(awaited) { application in
                guard application.pusher === pusher, !Task.isCancelled else { return }
                application.setWantsSignIn(true)
                try await pusher.signedIn()
            }
        case .scope(let name):
            begin(awaited) { application in await application.useChannel(name, of: pusher) }
        }
    }

    func send(_ name: String) {
        guard let channel = channel(name) else { return }
        begin { application in
            let ledger = application.ledger
            let number = ledger.nextNumber()
            ledger.state.withLockedValue { $0.accounts.await(number) }
            try await channel.send("client-note", data: ["n": number])
            let isSent = ledger.state.withLockedValue { $0.sentEvents.contains(number) }
            application.violations.check(isSent, "send() returns, but the client event \(number) was not sent")
        }
    }

    private func useChannel(_ name: String, of pusher: Pusher) async {
        // The client may have been released meanwhile.
        guard self.pusher === pusher else { return }
        let id = state.withLockedValue { state in
            state.lastID += 1
            state.scopes[name, default: []].insert(state.lastID)
            return state.lastID
        }
        ledger.wants(name)
        let isLast = await pusher.withChannel(name) { channel in
            let isHandedOver = state.withLockedValue { $0.endingScopes.contains(name) }
            if isHandedOver, channel.subscribed { ledger.keptSubscription(to: name) }
            _ = await FirstAnswer<Void>().value()
            let isLast = state.withLockedValue { state in
                guard state.scopes[name]?.remove(id) != nil else { return false }
                let isLast = state.scopes[name]?.isEmpty == true && !state.held.contains(name)
                if isLast { state.endingScopes.insert(name) }
                return isLast
            }
            if isLast { ledger.unsubscribed(name) }
            return isLast
        }
        if isLast { state.withLockedValue { _ = $0.endingScopes.remove(name) } }
    }

    /// Cancels one of the tasks. The index is reduced modulo the number of tasks.
    func cancel(_ index: Int) {
        let task = state.withLockedValue { state -> Task<Void, Never>? in
            let ids = state.waits.keys.sorted()
            return ids.isEmpty ? nil : state.waits[ids[index % ids.count]]?.task
        }
        task?.cancel()
    }

    func cancelAll() {
        for wait in state.withLockedValue({ Array($0.waits.values) }) { wait.task.cancel() }
    }

    private func begin(
        _ awaited: Action.Awaited? = nil,
        _ body: @escaping @Sendable (SimulatedApplication) async throws -> Void
    ) {
        let id = state.withLockedValue { state in
            state.lastID += 1
            return state.lastID
        }
        let task = Task { [weak self] in
            guard let self else { return }
            // The call may also end with an error.
            try? await body(self)
            state.withLockedValue { _ = $0.waits.removeValue(forKey: id) }
        }
        state.withLockedValue { $0.waits[id] = Wait(task: task, awaited: awaited) }
    }
}
