import NIOConcurrencyHelpers
import NIOCore
import PusherClient
import PusherTestServer

/// The checks after all faults have ended.
extension SimulatedWorld {
    /// Ends all faults, except faults that the client has to detect by itself, for example a silent socket.
    func heal() {
        wake()
        network.heal()
        application.state.withLockedValue { $0.isReacting = false }
        let server = server.server
        server.acceptConnections()
        server.acceptAuthorizations()
        server.acceptTransportRequests()
        application.networkHoldsBack(false)
        server.bufferStreams(until: nil)
        for name in ScriptWriter.channels { server.failSubscriptions(to: name, with: nil) }
        server.speakAgain()
        server.delayMessages(by: .zero)
        server.setActivityTimeout(30)
        if network.current?.isInconsistent == true { server.dropConnections() }
        network.setServerDeaf(false)
        network.setBadRequests(false)
        settle()
    }

    /// Runs the final checks, and then releases the client.
    func end() {
        heal()
        let stages: [(String, () -> Void)] = [
            ("left to itself", comeToRest), ("connected", connectAtLast), ("blocked", connectThroughBlock),
            ("its channels", checkAllSubscribed),
            ("its members", checkMembers), ("its events", checkEvents), ("its client events", checkClientEvents),
            ("nothing left over", checkNothingIsLeftOver), ("disconnected", disconnectAndReturn),
            ("dropped", dropAtLast),
        ]
        for (name, stage) in stages {
            ledger.note("(\(name))")
            stage()
            guard violations.isEmpty else { return violations.add("(at the end, \(name))") }
        }
    }

    /// The maximum time of a check, which exceeds every timer and the longest back-off.
    private static let patience = Duration.seconds(600)

    private func comeToRest() {
        advance(by: Self.patience / 2)
        let count = network.openCount
        func knowsLimit() -> Bool { application.pusher?.engine.machine.keepAlive.lastSilence != nil }
        let knewLimit = knowsLimit()
        advance(by: Self.patience / 2)
        // An idle limit stays, because the client must have learned the limit. The client may try to stop the pings,
        // and the messages on its next connection may also exceed a limit. If the limit has become longer, the client
        // forgets the shorter one.
        let hasLesson = knewLimit || knowsLimit()
        violations.check(
            network.openCount - count <= (hasLesson ? 3 : 0),
            "\(network.openCount - count) new connections although nothing happens"
        )
        // Without reconnecting, the client cannot learn an idle limit, and would lose its last connection because of
        // the limit.
        server.server.setIdleLimit(settings.autoReconnect ? server.server.options.dialect.idleLimit : nil)
        // The client's last trial without pings may just have caused a loss, so the client gets time to reconnect.
        if hasLesson, case .waiting? = application.pusher?.connection.status { advance(by: .seconds(60)) }
        checkInvariants()
        guard let pusher = application.pusher else { return }
        let isWanted = application.state.withLockedValue { $0.wantsConnection }
        switch (isWanted, pusher.connection.status) {
        case (true, .connected):
            let count = application.overdueWaitCount
            violations.check(count == 0, "\(count) calls do not return although the client is connected")
        case (true, .refused): break
        case (true, .disconnected(reason: .some)): violations.check(mayGiveUp, "the client stopped, but may not stop")
        case (false, .initialized), (false, .disconnected), (false, .refused): break
        case (_, let status): violations.add("the client is stuck: \(status)")
        }
    }

    private func connectAtLast() {
        application.connect()
        settle()
        advance(by: .seconds(60))
        guard let pusher = application.pusher else { return }
        violations.check(
            pusher.connection.connectionState == .connected,
            "connect() does not lead to a connection: \(pusher.connection.status)"
        )
        checkInvariants()
    }

    /// Checks that the client connects through a network that blocks WebSockets, if the app allows HTTP.
    private func connectThroughBlock() {
        guard settings.transports == .webSocketWithHTTPFallback, let pusher = application.pusher else { return }
        network.blockUpgrades(with: settings.upgradeFault)
        application.reconnectNow()
        let end = loop.now + .seconds(10)
        repeat {
            advance(by: .milliseconds(100))
        } while pusher.connection.connectionState != .connected && loop.now < end && violations.isEmpty
        violations.check(
            pusher.connection.connectionState == .connected,
            "no connection without WebSockets within 10 s: \(pusher.connection.status)"
        )
        // Half of the seeds use HTTP for the remaining checks.
        if settings.seed.isMultiple(of: 2) {
            network.blockUpgrades(with: nil)
            application.reconnectNow()
        }
        advance(by: .seconds(60))
        checkInvariants()
    }

    /// Checks that each channel is subscribed, or was reported as failed for a reason that cannot pass. A failed channel
    /// must be subscribed when the app tries again.
    private func checkAllSubscribed() {
        guard let pusher = application.pusher else { return }
        var failed: [String] = []
        for subscription in pusher.engine.machine.wantedSubscriptions where !subscription.isSubscribed {
            guard case .failed(let error) = subscription.phase, !error.mayPass else {
                return violations.add("\(subscription.name) is stuck: \(subscription.phase)")
            }
            let outcome = application.state.withLockedValue { $0.outcomes[subscription.name] }
            violations.check(outcome == .failed, "\(subscription.name) has failed without a report")
            failed.append(subscription.name)
        }
        for name in failed { application.channel(name)?.resubscribe() }
        signInAgain(pusher)
        // With a message limit, the client may have learned to wait for 90 seconds.
        advance(by: .seconds(settings.messageLimit == nil ? 60 : 200))
        if settings.messageLimit != nil {
            // Because of its limit, the server may have dropped the sign-in, so the client gets time for another try.
            advance(by: .seconds(60))
        }
        // A server that does not stop its streams may have dropped the connection because of a long stream, so the
        // client gets time to reconnect.
        if settings.transports != .webSocket, !settings.serverStopsStreams { advance(by: .seconds(60)) }
        // The server's own idle limit may just have caused a loss, so the client gets time to reconnect.
        if case .waiting = pusher.connection.status { advance(by: .seconds(60)) }
        guard let connection = server.server.connections.first(where: { $0.socketID == pusher.connection.socketId })
        else { return violations.add("the server has no connection \(pusher.connection.socketId ?? "")") }
        let subscribed = Set(connection.subscribedChannels.filter { !$0.hasPrefix("#") })
        let isComplete =
            settings.messageLimit == nil
            ? subscribed == application.wanted : subscribed.isSuperset(of: application.wanted)
        violations.check(
            isComplete,
            "the server has \(connection.subscribedChannels.sorted()), expected \(application.wanted.sorted())"
        )
        for name in application.wanted where application.channel(name)?.subscribed != true {
            violations.add("\(name) is not subscribed")
        }
        checkSignIn(pusher, connection.userID)
    }

    /// Signs the user in again if the sign-in has failed. Checks that no sign-in is pending.
    private func signInAgain(_ pusher: Pusher) {
        // The client tries again for ever if the server does not know sign-ins, and does not answer them.
        guard application.state.withLockedValue({ $0.wantsSignIn }), knowsSignIn else { return }
        switch pusher.engine.machine.signIn.phase {
        case .signedIn: break
        case .failed(let error):
            violations.check(!error.mayPass, "the client does not try the sign-in again: \(error)")
            pusher.signIn()
        case .idle, .authorizing, .signingIn, .retrying:
            // The sign-in may be pending after a server that does not stop its streams has dropped the connection.
            violations.check(!settings.serverStopsStreams, "the sign-in is stuck")
        }
    }

    private var knowsSignIn: Bool { Settings.dialects[settings.dialect].dialect.users.knowsSignIn }

    private func checkSignIn(_ pusher: Pusher, _ userId: String?) {
        let isWanted = application.state.withLockedValue { $0.wantsSignIn }
        guard isWanted, knowsSignIn else { return }
        violations.check(
            userId == "me" && pusher.user.userId == "me",
            "the client's user is \(pusher.user.userId ?? "nil"), the server's user is \(userId ?? "nil"), expected me"
        )
    }

    private func checkMembers() {
        for name in application.wanted {
            guard let channel = application.channel(name) as? PusherPresenceChannel else { continue }
            let own = Set(channel.members.map(\.userId))
            let real = Set(server.server.members(of: name).map(\.userID))
            violations.check(
                own == real,
                "the client has the members \(own.sorted()) of \(name), expected \(real.sorted())"
            )
        }
    }

    private func checkEvents() {
        ledger.state.withLockedValue { $0.trustsClaims = true }
        let names = application.wanted.sorted()
        let callbacks = names.map { ($0, application.bind($0, event: nil)) }
        let readers = names.map { ($0, application.read($0, event: "first")) }
        let general = application.bind(nil, event: "first")
        settle()
        for name in names { publish("first", to: name) }
        advance(by: .seconds(30))
        for (name, id) in callbacks + readers + names.map({ ($0, general) }) {
            guard let id, let number = published[name] else { continue }
            violations.check(
                ledger.numbersReceived(by: id).contains(number),
                "the event \(number) on \(name) did not arrive"
            )
        }
    }

    private func checkClientEvents() {
        guard let pusher = application.pusher else { return }
        for name in application.wanted.sorted() where Self.takesClientEvents(name) { application.trigger(name) }
        advance(by: .seconds(60))
        for (name, channel) in pusher.connection.channels.channels {
            let unsent = channel.unsentEvents.count
            violations.check(unsent == 0, "\(unsent) client events of \(name) are not sent")
        }
        if let problem = ledger.state.withLockedValue({ $0.accounts.missing(queued: 0) }) { violations.add(problem) }
        ledger.checkEncrypted()
    }

    private static func takesClientEvents(_ name: String) -> Bool {
        !name.hasPrefix("private-encrypted-") && (name.hasPrefix("private-") || name.hasPrefix("presence-"))
    }

    private func checkNothingIsLeftOver() {
        guard let pusher = application.pusher else { return }
        violations.check(application.overdueWaitCount == 0, "\(application.overdueWaitCount) calls do not return")
        application.cancelAll()
        settle()
        violations.check(application.waitCount == 0, "\(application.waitCount) cancelled calls do not return")
        // Calls of `withChannel` end with their tasks, and then unsubscribe from their channels.
        let count = network.openCount
        advance(by: .seconds(15))
        // The client may have tried to stop the pings, and lost the connection to an idle limit, perhaps just now.
        var isWaiting = false
        if case .waiting = pusher.connection.status { isWaiting = true }
        if isWaiting || network.openCount != count { advance(by: .seconds(15)) }
        checkInvariants()
        let resources = loop.inside { pusher.engine.resources }
        let timers = resources.timers.filter { $0 != .keepAlive }
        violations.check(timers.count == 1, "the timers \(timers) run, expected one")
        violations.check(resources.waiters == 0, "\(resources.waiters) calls still wait")
        violations.check(resources.authorizations == 0, "\(resources.authorizations) authorizations are still pending")
    }

    private func disconnectAndReturn() {
        guard let pusher = application.pusher else { return }
        application.disconnect()
        advance(by: .seconds(5))
        checkInvariants()
        let resources = loop.inside { pusher.engine.resources }
        violations.check(resources.isIdle, "after disconnect(), the following is left: \(resources)")
        guard settings.seed.isMultiple(of: 4) else { return }
        application.connect()
        advance(by: .seconds(60))
        for name in application.wanted where application.channel(name)?.subscribed != true {
            violations.add("\(name) is not subscribed again")
        }
    }

    private func dropAtLast() {
        application.dropClient()
        settle()
        for member in members { member.leave() }
        members = []
        network.heal()
        advance(by: .seconds(40))
        let engines = application.state.withLockedValue { $0.droppedEngines.filter { $0.value != nil } }
        violations.check(engines.isEmpty, "\(engines.count) engines of released clients are left")
        let readers = application.takeEndlessReaders()
        violations.check(readers.isEmpty, "the sequences \(readers) continue after the client's release")
        violations.check(isIdle, "work is left after the client's release")
        violations.check(application.waitCount == 0, "\(application.waitCount) tasks are left")
        violations.check(server.server.connections.isEmpty, "\(server.server.connections.count) connections are left")
        violations.check(server.exchanges.isEmpty, "\(server.exchanges.count) HTTP requests are left")
    }
}

extension SubscriptionError {
    fileprivate var mayPass: Bool { code == .subscriptionTimedOut || (cause as? AuthorizationError)?.mayPass == true }
}

extension PusherClientError {
    fileprivate var mayPass: Bool { code == .signInTimedOut || (cause as? AuthorizationError)?.mayPass == true }
}

extension AuthorizationError {
    fileprivate var mayPass: Bool { if case .retry = recovery { true } else { false } }
}
