import ClientTestSupport
import NIOConcurrencyHelpers
import NIOCore
import PusherClient

/// The checks after each step.
extension SimulatedWorld {
    func checkInvariants() {
        guard !loop.isAsleep, let pusher = application.pusher else { return }
        let resources = loop.inside { pusher.engine.resources }
        let machine = pusher.engine.machine
        violations.check(resources.effects == 0, "\(resources.effects) effects have not run")
        checkConnection(pusher, machine, resources)
        checkEnd(machine)
        checkWaits(machine)
        checkTimers(resources.timers, machine.connection.state)
        checkTimers(resources.timers, machine)
        checkTries(resources.tries, machine)
        checkChannels(machine, resources)
        application.checkCountdowns(pusher.connection.status, timerCount: resources.countdowns)
        let balance = StatisticsBalance(
            machine,
            attempts: ledger.state.withLockedValue { $0.pacing.attempts },
            written: network.current?.waitingClientEvents ?? 0
        )
        for violation in balance.violations { violations.add(violation) }
        checkSending()
    }

    private func checkConnection(_ pusher: Pusher, _ machine: ClientStateMachine, _ resources: HeldResources) {
        let (announced, status) = application.state.withLockedValue { ($0.connectionState, $0.lastStatus) }
        let state = machine.connectionState
        violations.check(announced == state, "the delegate's last state is \(announced), expected \(state)")
        if let status {
            violations.check(
                status == pusher.connection.status,
                "the last element of statuses is \(status), expected \(pusher.connection.status)"
            )
        }
        let sockets = resources.sockets
        violations.check(
            sockets == (machine.connection.currentAttempt.map { [$0] } ?? []),
            "the client has the wrong sockets \(sockets) while \(state)"
        )
        violations.check(
            (network.current.map { !$0.isEnded } ?? false) == !sockets.isEmpty,
            "the network and the client disagree about an open socket while \(state)"
        )
        let links = network.currentLinks.count
        let most = settings.transports.list.elements.count
        let allowed = sockets.isEmpty ? 0...0 : state == .connected ? 1...1 : 0...most
        violations.check(allowed.contains(links), "\(links) transports are in use while \(state), expected \(allowed)")
        violations.check(
            resources.waiters <= application.waitCount,
            "\(resources.waiters) calls wait, expected at most \(application.waitCount)"
        )
        violations.check(
            state == .connected || resources.authorizations == 0,
            "\(resources.authorizations) authorizations are pending while \(state)"
        )
        violations.check(
            requestCount <= resources.authorizations,
            "\(requestCount) requests run, expected at most \(resources.authorizations) for the authorizations"
        )
        let isWanted = application.state.withLockedValue { $0.wantsConnection }
        violations.check(
            machine.connection.isWanted == isWanted || machine.connection.failure != nil,
            "the client disagrees about the last call, which requested \(isWanted ? "a connection" : "no connection")"
        )
    }

    /// Checks that no request with messages waits longer for its answer than the client allows.
    private func checkSending() {
        for case let session as SimulatedSession in network.currentLinks {
            guard let since = session.sendingSince else { continue }
            let time = loop.now - max(since, application.wakeTime)
            violations.check(
                time <= TimeAmount(HTTPSessionStateMachine.sendTimeout),
                "a request with messages waits for its answer for \(time)"
            )
        }
    }

    /// Whether the settings allow the client to stop.
    var mayGiveUp: Bool {
        if case .limited = settings.retryPolicy { return true }
        return !settings.autoReconnect
    }

    /// Checks that the client has stopped only after a refusal, or if the settings allow it. Checks that sequences have
    /// ended with their channel or client.
    private func checkEnd(_ machine: ClientStateMachine) {
        switch machine.connection.state {
        case .refused(let error):
            let isRefused = ledger.state.withLockedValue { $0.pacing.isRefused }
            violations.check(isRefused, "the client stopped without a refusal: \(error)")
        case .disconnected(let error?):
            violations.check(mayGiveUp, "the client stopped, but may not stop: \(error)")
        default: break
        }
        let readers = application.takeEndlessReaders()
        violations.check(readers.isEmpty, "the sequences \(readers) have not ended with their channel or client")
    }

    /// Checks that no call waits for an outcome that the connection's state has already decided.
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

    /// Checks that the members that a listener learned from joins and leaves are the members of the roster.
    private func checkFollowed(_ subscription: SubscriptionStateMachine) {
        guard subscription.isSubscribed, let roster = subscription.roster,
            let followed = application.state.withLockedValue({ $0.followed[subscription.name] }),
            application.channel(subscription.name).map(ObjectIdentifier.init) == followed.channel
        else { return }
        let (told, real) = (followed.members.ids, Set(roster.members.map(\.id)))
        violations.check(
            told == real,
            "\(subscription.name) reported the members \(told.sorted()), expected \(real.sorted())"
        )
    }

    private func checkTimers(_ running: [TimerID.Purpose], _ state: ConnectionStateMachine.State) {
        let rules = TimerRules(state)
        if let problem = rules.problem(with: running) { violations.add(problem) }
    }

    /// Checks that every request to the server has a timer for its timeout.
    private func checkTimers(_ running: [TimerID.Purpose], _ machine: ClientStateMachine) {
        guard machine.connectionState == .connected else { return }
        let isSubscribing = machine.subscriptions.values.contains(where: \.isPending)
        violations.check(!isSubscribing || running.contains(.subscription), "subscriptions are pending without a timer")
        violations.check(
            machine.subscriptions.queuedCount == 0 || running.contains(.subscriptionPace),
            "subscriptions are held back by the server's rate limit without a timer"
        )
        violations.check(
            machine.signIn.isAwaitingServer == running.contains(.signIn),
            "wrong timers for the sign-in: phase \(machine.signIn.phase), timers \(running)"
        )
        violations.check(
            (machine.signIn.awaitedOwnChannel != nil) == running.contains(.ownChannel),
            "wrong timers for own channels: \(machine.signIn.ownChannels), timers \(running)"
        )
        violations.check(
            !machine.isSignInWanted || machine.signIn.phase != .idle,
            "the sign-in is wanted, but has not begun"
        )
        let authorizations = machine.authorizations.jobs.count
        violations.check(
            running.count { $0 == .authorization } <= authorizations,
            "too many timers for \(authorizations) authorizations: \(running)"
        )
        let retries = machine.session?.retries ?? Retries()
        let waiting = retries.subjects.count { retries[$0]?.phase == .waiting }
        violations.check(
            running.count { $0 == .nextTry } == waiting,
            "wrong timers for \(waiting) retries: \(running)"
        )
        violations.check(
            !machine.clientEvents.isLimited || running.contains(.clientEvents),
            "client events are held back by the rate limit without a timer"
        )
    }

    /// Checks that no more tries run than authorizations are needed.
    private func checkTries(_ tries: Int, _ machine: ClientStateMachine) {
        let wanted = machine.authorizations.jobs.count
        violations.check(tries <= wanted, "\(tries) tries of authorizations run, expected at most \(wanted)")
    }

    private func checkChannels(_ machine: ClientStateMachine, _ resources: HeldResources) {
        let wanted = application.wanted
        let known = Set(machine.wantedSubscriptions.map(\.name))
        violations.check(wanted == known, "the client has the channels \(known.sorted()), expected \(wanted.sorted())")
        violations.check(
            resources.channels == wanted.count,
            "the client keeps \(resources.channels) channels, expected \(wanted.count)"
        )
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
                "\(subscription.name) is not subscribed, but has the members \(ids)"
            )
        }
    }
}
