import ClientTestSupport
import NIOConcurrencyHelpers
import PusherClient

/// The properties that must hold after each step.
extension SimulatedWorld {
    func checkInvariants() {
        guard !loop.isAsleep, let pusher = application.pusher else { return }
        let holdings = loop.inside { pusher.engine.holdings }
        let machine = pusher.engine.machine
        violations.check(holdings.effects == 0, "\(holdings.effects) effects wait")
        checkConnection(pusher, machine, holdings)
        checkEnd(machine)
        checkWaits(machine)
        checkTimers(holdings.timers, machine.connection.state)
        checkTimers(holdings.timers, machine)
        checkTries(holdings.tries, machine)
        checkChannels(machine, holdings)
        let balance = StatisticsBalance(
            machine,
            attempts: ledger.state.withLockedValue { $0.pacing.attempts },
            written: network.current?.waitingClientEvents ?? 0
        )
        for violation in balance.violations { violations.add(violation) }
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
        let links = network.currentLinks.count
        let most = settings.transports.list.elements.count
        let allowed = sockets.isEmpty ? 0...0 : state == .connected ? 1...1 : 0...most
        violations.check(allowed.contains(links), "\(links) transports are in use while \(state)")
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

    /// Whether the settings allow the client to stop.
    var mayGiveUp: Bool {
        if case .limited = settings.retryPolicy { return true }
        return !settings.autoReconnect
    }

    /// It has stopped only if that is allowed.
    private func checkEnd(_ machine: ClientStateMachine) {
        switch machine.connection.state {
        case .refused(let error):
            let isRefused = ledger.state.withLockedValue { $0.pacing.isRefused }
            violations.check(isRefused, "it takes itself for refused: \(error)")
        case .disconnected(let error?):
            violations.check(mayGiveUp, "it has given up: \(error)")
        default: break
        }
        let readers = application.takeEndlessReaders()
        violations.check(readers.isEmpty, "the sequences \(readers) have not ended with what they are of")
    }

    /// No call waits for an outcome that the connection's state has already decided.
    private func checkWaits(_ machine: ClientStateMachine) {
        let state = machine.connectionState
        for awaited in application.awaited {
            let mayWait =
                switch awaited {
                case .connected: state == .connecting || state == .reconnecting
                case .disconnected: state == .disconnecting
                case .subscribed, .signedIn: machine.connection.failure == nil
                case .scope: true
                }
            violations.check(mayWait, "a call waits for \(awaited) while \(machine.connection.status)")
        }
    }

    /// A listener of the changes has the same members.
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

    /// Every request to the server has a timer that ends it.
    private func checkTimers(_ running: [TimerID.Purpose], _ machine: ClientStateMachine) {
        guard machine.connectionState == .connected else { return }
        let isSubscribing = machine.subscriptions.values.contains(where: \.isPending)
        violations.check(!isSubscribing || running.contains(.subscription), "subscriptions wait without a timer")
        violations.check(
            machine.subscriptions.queuedCount == 0 || running.contains(.subscriptionPace),
            "subscriptions wait for the server's limit without a timer"
        )
        violations.check(
            machine.signIn.isAwaitingServer == running.contains(.signIn),
            "the sign-in is \(machine.signIn.phase), with the timers \(running)"
        )
        violations.check(
            (machine.signIn.awaitedOwnChannel != nil) == running.contains(.ownChannel),
            "the users' own channels are \(machine.signIn.ownChannels), with the timers \(running)"
        )
        violations.check(
            !machine.isSignInWanted || machine.signIn.phase != .idle,
            "nothing is done for the sign-in"
        )
        let authorizations = machine.authorizations.jobs.count
        violations.check(
            running.count { $0 == .authorization } <= authorizations,
            "\(authorizations) authorizations have the timers \(running)"
        )
        violations.check(
            !machine.clientEvents.isLimited || running.contains(.clientEvents),
            "client events wait for the limit without a timer"
        )
    }

    /// Every request is wanted.
    private func checkTries(_ tries: Int, _ machine: ClientStateMachine) {
        let wanted = machine.authorizations.jobs.count
        violations.check(tries <= wanted, "\(tries) authorizations are asked for, and \(wanted) wanted")
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
