import NIOConcurrencyHelpers
import NIOCore
import PusherClient
import PusherTestServer

/// The properties that must hold after all faults have ended.
extension SimulatedWorld {
    /// All faults end, except those that the client has to find by itself, for example a silent socket.
    func heal() {
        wake()
        network.heal()
        application.state.withLockedValue { $0.isReacting = false }
        let server = server.server
        server.acceptConnections()
        server.acceptAuthorizations()
        server.acceptTransportRequests()
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

    /// From the end of all faults to the end of the client.
    func end() {
        heal()
        let stages: [(String, () -> Void)] = [
            ("left to itself", comeToRest), ("connected", connectAtLast), ("blocked", connectThroughBlock),
            ("its channels", checkAllSubscribed),
            ("its members", checkMembers), ("its events", checkEvents), ("its client events", checkClientEvents),
            ("what it holds", checkNothingIsLeftOver), ("disconnected", disconnectAndReturn), ("dropped", dropAtLast),
        ]
        for (name, stage) in stages {
            ledger.note("(\(name))")
            stage()
            guard violations.isEmpty else { return violations.add("(at the end, \(name))") }
        }
    }

    /// Long enough for every timer, and for the longest back-off.
    private static let patience = Duration.seconds(600)

    private func comeToRest() {
        advance(by: Self.patience / 2)
        let count = network.openCount
        advance(by: Self.patience / 2)
        // An idle limit does not end: the client has to have learned it. It may try to stop the pings, and its messages
        // on the next connection may exceed a limit.
        let hasLesson = application.pusher?.engine.machine.keepAlive.lastSilence != nil
        violations.check(
            network.openCount - count <= (hasLesson ? 3 : 0),
            "\(network.openCount - count) connections although nothing happens"
        )
        // A client that does not reconnect cannot learn a limit, and would lose its last connection because of it.
        server.server.setIdleLimit(settings.autoReconnect ? server.server.options.dialect.idleLimit : nil)
        // The last try without the pings may just have cost a connection.
        if hasLesson, case .waiting? = application.pusher?.connection.status { advance(by: .seconds(60)) }
        checkInvariants()
        guard let pusher = application.pusher else { return }
        let isWanted = application.state.withLockedValue { $0.wantsConnection }
        switch (isWanted, pusher.connection.status) {
        case (true, .connected):
            let count = application.overdueWaitCount
            violations.check(count == 0, "\(count) calls do not come back, with a connection that stands")
        case (true, .refused): break
        case (true, .disconnected(reason: .some)): violations.check(mayGiveUp, "the client has given up")
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
            "connect() does not connect: \(pusher.connection.status)"
        )
        checkInvariants()
    }

    /// If the app allows HTTP, a network that blocks WebSockets is no reason to be without a connection.
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
            "within 10 s there is no connection without WebSockets: \(pusher.connection.status)"
        )
        // With others the rest of the end goes over HTTP.
        if settings.seed.isMultiple(of: 2) {
            network.blockUpgrades(with: nil)
            application.reconnectNow()
        }
        advance(by: .seconds(60))
        checkInvariants()
    }

    /// Each is subscribed, or was said to have failed, and is subscribed when it is tried again.
    private func checkAllSubscribed() {
        guard let pusher = application.pusher else { return }
        var failed: [String] = []
        for subscription in pusher.engine.machine.wantedSubscriptions where !subscription.isSubscribed {
            guard case .failed = subscription.phase else {
                return violations.add("\(subscription.name) is stuck: \(subscription.phase)")
            }
            let outcome = application.state.withLockedValue { $0.outcomes[subscription.name] }
            violations.check(outcome == .failed, "\(subscription.name) has failed, and nobody was told")
            failed.append(subscription.name)
        }
        for name in failed { application.channel(name)?.resubscribe() }
        signInAgain(pusher)
        // The client may have learned to wait for a minute and a half.
        advance(by: .seconds(settings.messageLimit == nil ? 60 : 200))
        if settings.messageLimit != nil {
            // The client does not repeat a sign-in that the limit has dropped among subscriptions.
            signInAgain(pusher)
            advance(by: .seconds(60))
        }
        // A server that goes on writing when a stream is long may have dropped the connection, and have the next one just now.
        if settings.transports != .webSocket, !settings.serverStopsStreams { advance(by: .seconds(60)) }
        // It may have reached the server's own idle limit only now, and lost a connection because of it.
        if case .waiting = pusher.connection.status { advance(by: .seconds(60)) }
        guard let connection = server.server.connections.first(where: { $0.socketID == pusher.connection.socketId })
        else { return violations.add("the server knows no connection \(pusher.connection.socketId ?? "")") }
        let subscribed = Set(connection.subscribedChannels.filter { !$0.hasPrefix("#") })
        let isComplete =
            settings.messageLimit == nil
            ? subscribed == application.wanted : subscribed.isSuperset(of: application.wanted)
        violations.check(
            isComplete,
            "wanted are \(application.wanted.sorted()), and the server has \(connection.subscribedChannels.sorted())"
        )
        for name in application.wanted where application.channel(name)?.subscribed != true {
            violations.add("\(name) is not subscribed")
        }
        checkSignIn(pusher, connection.userId)
    }

    /// The user is signed in, or was reported as failed.
    private func signInAgain(_ pusher: Pusher) {
        guard application.state.withLockedValue({ $0.wantsSignIn }) else { return }
        switch pusher.engine.machine.signIn.phase {
        case .signedIn: break
        case .failed: pusher.signIn()
        case .idle, .authorizing, .signingIn:
            // Without that the server may have dropped the connection just now.
            violations.check(!settings.serverStopsStreams, "the sign-in is stuck")
        }
    }

    private func checkSignIn(_ pusher: Pusher, _ userId: String?) {
        let isWanted = application.state.withLockedValue { $0.wantsSignIn }
        guard isWanted, Settings.dialects[settings.dialect].dialect.users.knowsSignIn else { return }
        violations.check(
            userId == "me" && pusher.user.userId == "me",
            "the user is not signed in: \(pusher.user.userId ?? "nobody"), for the server \(userId ?? "nobody")"
        )
    }

    private func checkMembers() {
        for name in application.wanted {
            guard let channel = application.channel(name) as? PusherPresenceChannel else { continue }
            let own = Set(channel.members.map(\.userId))
            let real = Set(server.server.members(of: name).map(\.userId))
            violations.check(own == real, "the members of \(name) are \(real.sorted()), not \(own.sorted())")
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
                "the event \(number) on \(name) did not come"
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
        violations.check(application.overdueWaitCount == 0, "\(application.overdueWaitCount) calls do not come back")
        application.cancelAll()
        settle()
        violations.check(application.waitCount == 0, "\(application.waitCount) calls never came back")
        // Scopes end with their tasks, and their channels with them.
        advance(by: .seconds(15))
        checkInvariants()
        let holdings = loop.inside { pusher.engine.holdings }
        let timers = holdings.timers.filter { $0 != .keepAlive }
        violations.check(timers.count == 1, "the timers \(timers) run")
        violations.check(holdings.waiters == 0, "\(holdings.waiters) calls wait")
        violations.check(holdings.authorizations == 0, "\(holdings.authorizations) authorizations go on")
    }

    private func disconnectAndReturn() {
        guard let pusher = application.pusher else { return }
        application.disconnect()
        advance(by: .seconds(5))
        checkInvariants()
        let holdings = loop.inside { pusher.engine.holdings }
        violations.check(
            holdings.timers.isEmpty && holdings.sockets.isEmpty,
            "after disconnect() there are \(holdings.timers) and \(holdings.sockets)"
        )
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
        violations.check(engines.isEmpty, "\(engines.count) clients are dropped, and their engines are left")
        let readers = application.takeEndlessReaders()
        violations.check(readers.isEmpty, "the client is dropped, and the sequences \(readers) go on")
        violations.check(isIdle, "something is still to be done when all is over")
        violations.check(application.waitCount == 0, "\(application.waitCount) tasks are left")
        violations.check(server.server.connections.isEmpty, "\(server.server.connections.count) connections are left")
        violations.check(server.exchanges.isEmpty, "\(server.exchanges.count) HTTP requests are left")
    }
}
