import PusherClient
import PusherProtocol

/// The properties that must hold after the server has become a good one.
struct ClientEnding {
    let world: ClientWorld

    func run() {
        world.heal()
        comeToRest()
        connectAtLast()
        loseConnection()
        disconnectAndDrop()
    }

    // MARK: Left to itself

    /// Longer than the sum of all timers that may be needed.
    private static let patience = 180

    /// No call reaches it, and no socket is closed.
    private func comeToRest() {
        for _ in 0..<Self.patience where !isAtRest { world.advance(seconds: 1) }
        guard let client = world.client else { return }
        require(isAtRest, "it is stuck: \(client.connection.status), \(unfinished), \(client.engine.holdings)")
        guard client.connection.connectionState == .connected else { return }
        for subscription in client.engine.machine.wantedSubscriptions {
            let outcome: SubscriptionOutcome = subscription.isSubscribed ? .subscribed : .failed
            require(
                world.outcome(of: subscription.name) == outcome,
                "\(subscription.name) is \(subscription.phase), and the application was told otherwise"
            )
        }
        guard let server = world.network.current, server.isHeard else { return }
        let unknown = subscribed.subtracting(server.claimed)
        require(unknown.isEmpty, "\(unknown.sorted()) are subscribed, and the server has never heard of them")
        let forgotten = server.channels.subtracting(subscribed)
        require(forgotten.isEmpty, "the server still has \(forgotten.sorted()), which are not subscribed")
    }

    private var isAtRest: Bool {
        guard let client = world.client else { return true }
        return switch (world.wantsConnection, client.connection.status) {
        case (true, .connected): unfinished.isEmpty && client.engine.holdings.authorizations == 0
        case (true, .refused), (true, .disconnected(reason: .some)): true
        case (false, .initialized), (false, .disconnected), (false, .refused): true
        default: false
        }
    }

    /// A channel that is neither subscribed nor failed.
    private var unfinished: [String] {
        guard let machine = world.client?.engine.machine else { return [] }
        var names: [String] = []
        for subscription in machine.wantedSubscriptions {
            switch subscription.phase {
            case .subscribed, .failed, .invalid: break
            case .idle, .authorizing, .awaitingSignIn, .queued, .subscribing, .unsubscribing:
                names.append(subscription.name)
            }
        }
        switch machine.signIn.phase {
        case .signedIn, .failed: break
        case .idle where !machine.isSignInWanted: break
        case .idle, .authorizing, .signingIn: names.append("the sign-in")
        }
        return names
    }

    private var subscribed: Set<String> {
        Set(world.client?.engine.machine.wantedSubscriptions.filter(\.isSubscribed).map(\.name) ?? [])
    }

    // MARK: Told to connect

    private func connectAtLast() {
        world.connect()
        // If the server was not clear, a disagreement is not the client's fault.
        if let server = world.network.current, !server.isHeard || server.claimed != server.subscriptions {
            server.end()
            world.settle()
        }
        for _ in 0..<40 where world.client?.connection.connectionState != .connected { world.advance(seconds: 1) }
        tryAgain()
        recover()
    }

    private func tryAgain() {
        guard let client = world.client else { return }
        for subscription in client.engine.machine.wantedSubscriptions where !subscription.isSubscribed {
            client.connection.channels.find(name: subscription.name)?.resubscribe()
        }
        if world.wantsSignIn { client.signIn() }
        world.settle()
    }

    private func recover() {
        for _ in 0..<40 where !isRecovered { world.advance(seconds: 1) }
        guard let client = world.client else { return }
        require(client.connection.connectionState == .connected, "it is stuck: \(client.connection.status)")
        require(isRecovered, "\(missing.sorted()) are not subscribed again, or the user is not signed in")
        let unwanted = client.connection.channels.channels.keys.filter { !world.wanted.contains($0) }
        require(unwanted.isEmpty, "\(unwanted) are still there")
        let channels = world.network.current?.channels ?? []
        require(channels == subscribed, "the server has \(channels.sorted()), the client \(subscribed.sorted())")
    }

    private var isRecovered: Bool {
        guard let client = world.client, client.connection.connectionState == .connected else { return false }
        return missing.isEmpty && (client.user.userId != nil) == world.wantsSignIn
    }

    private var missing: Set<String> {
        world.wanted.filter { (try? ChannelName($0)) != nil }.subtracting(subscribed)
    }

    // MARK: Its end

    /// Everything is repeated on a connection that the input does not affect.
    private func loseConnection() {
        for server in world.network.servers { server.end() }
        world.settle()
        recover()
        guard let client = world.client else { return }
        require(!world.wantsSignIn || client.user.userId == "me", "\(client.user.userId ?? "") is signed in")
        for case let channel as PusherPresenceChannel in client.connection.channels.channels.values {
            let members = channel.members.map(\.userId)
            require(members == ["me"] || !channel.subscribed, "\(members) are on \(channel.name)")
        }
    }

    private func disconnectAndDrop() {
        world.disconnect()
        world.advance(seconds: 5)
        if let client = world.client {
            require(
                client.connection.connectionState == .disconnected,
                "after disconnect(): \(client.connection.status)"
            )
            require(client.engine.holdings.isIdle, "after disconnect(): \(client.engine.holdings)")
        }
        require(world.network.servers.isEmpty, "after disconnect() a socket is open")
        weak let engine = world.client?.engine
        world.drop()
        world.settle()
        require(engine == nil, "the client is not freed")
        require(world.requester.isShutDown, "the requester is not shut down")
    }
}
