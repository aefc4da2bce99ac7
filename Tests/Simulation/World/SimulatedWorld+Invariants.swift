import NIOConcurrencyHelpers
import PusherClient

/// What must hold after each step, whatever has happened.
extension SimulatedWorld {
    func checkInvariants() {
        guard let pusher = application.pusher else { return }
        let holdings = loop.inside { pusher.engine.holdings }
        let machine = pusher.engine.machine
        violations.check(holdings.effects == 0, "\(holdings.effects) effects wait")
        checkConnection(pusher, machine, holdings)
        checkTimers(holdings.timers, machine.connection.state)
        checkChannels(machine, holdings)
    }

    private func checkConnection(_ pusher: Pusher, _ machine: ClientStateMachine, _ holdings: Holdings) {
        let (announced, status) = application.state.withLockedValue { ($0.connectionState, $0.lastStatus) }
        let state = machine.connectionState
        violations.check(announced == state, "the delegate was told \(announced), and the state is \(state)")
        if let status {
            violations.check(
                status == pusher.connection.status,
                "the statuses say \(status), and it is \(pusher.connection.status)"
            )
        }
        let sockets = holdings.sockets
        violations.check(
            sockets == (machine.connection.currentAttempt.map { [$0] } ?? []),
            "the sockets \(sockets), while \(state)"
        )
        violations.check(
            (network.current.map { !$0.isEnded } ?? false) == !sockets.isEmpty,
            "the network and the client differ about whether there is a socket, while \(state)"
        )
        violations.check(
            holdings.waiters <= application.waitCount,
            "\(holdings.waiters) calls wait, of \(application.waitCount)"
        )
        violations.check(
            state == .connected || holdings.authorizations == 0,
            "\(holdings.authorizations) authorizations go on while \(state)"
        )
        violations.check(
            requestCount <= holdings.authorizations,
            "\(requestCount) requests run for \(holdings.authorizations) authorizations"
        )
        let isWanted = application.state.withLockedValue { $0.wantsConnection }
        violations.check(
            machine.connection.isWanted == isWanted || machine.connection.failure != nil,
            "the last call asked for \(isWanted ? "a connection" : "none"), and the client knows otherwise"
        )
    }

    /// Whoever follows the changes has the same members.
    private func checkFollowed(_ subscription: SubscriptionStateMachine) {
        guard subscription.isSubscribed, let roster = subscription.roster,
            let followed = application.state.withLockedValue({ $0.followed[subscription.name] }),
            application.channel(subscription.name).map(ObjectIdentifier.init) == followed.channel
        else { return }
        let (told, real) = (followed.members.ids, Set(roster.members.map(\.id)))
        violations.check(
            told == real,
            "\(subscription.name) has the members \(real.sorted()), and told of \(told.sorted())"
        )
    }

    private func checkTimers(_ running: [TimerID.Purpose], _ state: ConnectionStateMachine.State) {
        let rules = TimerRules(state)
        if let problem = rules.problem(with: running) { violations.add(problem) }
    }

    private func checkChannels(_ machine: ClientStateMachine, _ holdings: Holdings) {
        let wanted = application.wanted
        let known = Set(machine.wantedSubscriptions.map(\.name))
        violations.check(wanted == known, "wanted are \(wanted.sorted()), and the client has \(known.sorted())")
        violations.check(holdings.channels == wanted.count, "\(holdings.channels) channels for \(wanted.count)")
        for subscription in machine.subscriptions.values {
            if machine.connectionState != .connected {
                violations.check(!subscription.isSubscribed, "\(subscription.name) is subscribed without a connection")
            }
            checkFollowed(subscription)
            guard let roster = subscription.roster else { continue }
            let ids = roster.members.map(\.id)
            violations.check(Set(ids).count == ids.count, "\(subscription.name) has a member twice: \(ids)")
            violations.check(
                subscription.phase == .subscribed || ids.isEmpty,
                "\(subscription.name) is not subscribed and has the members \(ids)"
            )
        }
    }
}

/// Which timers may run, and which have to, in a state of the connection.
struct TimerRules {
    private let required: [TimerID.Purpose]
    private let allowed: [TimerID.Purpose]
    private let isConnected: Bool
    private let state: String

    init(_ state: ConnectionStateMachine.State) {
        (required, allowed, isConnected, self.state) =
            switch state {
            case .initialized: ([], [], false, "initialized")
            case .disconnected: ([], [], false, "disconnected")
            case .refused: ([], [], false, "refused")
            case .connecting: ([.attempt], [.attempt, .unavailable], false, "connecting")
            case .connected:
                (
                    [], [.activity, .pong, .subscription, .authorization, .signIn, .clientEvents], true, "connected"
                )
            case .asking: ([], [.unavailable], false, "asking")
            case .waiting: ([.retry], [.retry, .unavailable], false, "waiting")
            case .disconnecting: ([.closing], [.closing], false, "disconnecting")
            }
    }

    func problem(with running: [TimerID.Purpose]) -> String? {
        let isSound =
            required.allSatisfy(running.contains)
            && running.allSatisfy { purpose in
                allowed.contains(purpose) && (purpose == .authorization || running.count { $0 == purpose } == 1)
            }
        guard isSound else { return "while \(state) the timers \(running) run" }
        guard isConnected, running.contains(.activity) == running.contains(.pong) else { return nil }
        return "nobody watches the server: \(running)"
    }
}
