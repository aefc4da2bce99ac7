import NIOConcurrencyHelpers
import PusherClient
import PusherTestServer

/// The checks of client and server when no message is in transit.
extension SimulatedWorld {
    /// Checks that the client and the server have the same subscriptions.
    func checkServer() {
        guard let pusher = application.pusher, let connection = network.current, network.isQuiet,
            hasServerSaidAll, !connection.isInconsistent,
            let own = server.server.connections.first(where: { $0.socketID == pusher.connection.socketId })
        else { return }
        let subscriptions = pusher.engine.machine.subscriptions.values
        let (real, known) = (Set(own.subscribedChannels), Set(subscriptions.map(\.name)))
        // With a message limit, the server also drops unsubscribe messages, and keeps these subscriptions.
        let hasLimit = settings.messageLimit != nil
        let forgotten = hasLimit ? [] : real.filter { !$0.hasPrefix("#") && !known.contains($0) }
        violations.check(forgotten.isEmpty, "the server still has the unwanted subscriptions \(forgotten.sorted())")
        let imagined = subscriptions.filter(\.isSubscribed).map(\.name).filter { !real.contains($0) }
        violations.check(imagined.isEmpty, "the server does not have the subscriptions \(imagined.sorted())")
        let held = ledger.state.withLockedValue { $0.subscriptions.held }
        let missed = subscriptions.filter { $0.isWanted && !$0.isSubscribed }.map(\.name).filter(held.contains)
        violations.check(missed.isEmpty, "the client has missed the confirmations of \(missed.sorted())")
        for subscription in subscriptions where subscription.isSubscribed { checkMembers(subscription) }
    }

    private func checkMembers(_ subscription: SubscriptionStateMachine) {
        guard let roster = subscription.roster else { return }
        let own = Set(roster.members.map(\.id))
        let real = Set(server.server.members(of: subscription.name).map(\.userID))
        violations.check(
            own == real,
            "the client has the members \(own.sorted()) of \(subscription.name), expected \(real.sorted())"
        )
    }
}
