import PusherClient
import PusherProtocol

/// The checks at the end of a run. Before the checks, the target makes the server and the network work properly.
struct ClientEnding {
    let world: ClientWorld

    func run() {
        world.heal()
        comeToRest()
        connectAtLast()
        loseConnection()
        disconnectAndDrop()
    }

    // MARK: Without calls of the app

    /// The number of seconds that the client may need. This number exceeds the sum of all timers that the client may
    /// wait for.
    private static let patience = 180

    /// Waits until the client is idle. During the wait, the target makes no calls and closes no sockets.
    private func comeToRest() {
        for _ in 0..<Self.patience where !isAtRest { world.advance(seconds: 1) }
        guard let client = world.client else { return }
        require(isAtRest, "the client is stuck: \(client.connection.status), \(unfinished), \(client.engine.resources)")
        guard client.connection.connectionState == .connected else { return }
        for subscription in client.engine.machine.wantedSubscriptions {
            let outcome: SubscriptionOutcome = subscription.isSubscribed ? .subscribed : .failed
            require(
                world.outcome(of: subscription.name) == outcome,
                "\(subscription.name) is \(subscription.phase), but the last report to the app differs"
            )
        }
        guard let server = world.network.current, server.isHeard else { return }
        let unknown = subscribed.subtracting(server.claimed)
        require(unknown.isEmpty, "the client has subscribed to \(unknown.sorted()), but the server has not")
        let forgotten = server.channels.subtracting(subscribed)
        require(forgotten.isEmpty, "the server has \(forgotten.sorted()), but the client has not subscribed")
    }

    private var isAtRest: Bool {
        guard let client = world.client else { return true }
        return switch (world.wantsConnection, client.connection.status) {
        case (true, .connected): unfinished.isEmpty && client.engine.resources.authorizations == 0
        case (true, .refused), (true, .disconnected(reason: .some)): true
        case (false, .initialized), (false, .disconnected), (false, .refused): true
        default: false
        }
    }

    /// The channels that are neither subscribed nor failed, although no failure is followed by a wait.
    private var unfinished: [String] {
        guard let machine = world.client?.engine.machine else { return [] }
        var names: [String] = []
        for subscription in machine.wantedSubscriptions {
            switch subscription.phase {
            case .subscribed, .retrying, .failed, .invalid: break
            case .idle, .authorizing, .awaitingSignIn, .queued, .subscribing, .subscribingUnwanted:
                names.append(subscription.name)
            }
        }
        switch machine.signIn.phase {
        case .signedIn, .retrying, .failed: break
        case .idle where !machine.isSignInWanted: break
        case .idle, .authorizing, .signingIn: names.append("the sign-in")
        }
        return names
    }

    private var subscribed: Set<String> {
        Set(world.client?.engine.machine.wantedSubscriptions.filter(\.isSubscribed).map(\.name) ?? [])
    }

    // MARK: After a call of connect

    private func connectAtLast() {
        world.connect()
        // If the client and the server could not understand each other, a disagreement is not a defect of the client.
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
        require(client.connection.connectionState == .connected, "the client is stuck: \(client.connection.status)")
        require(isRecovered, "the client has not subscribed to \(missing.sorted()) again, or the user is not signed in")
        let unwanted = client.connection.channels.channels.keys.filter { !world.wanted.contains($0) }
        require(unwanted.isEmpty, "the client still has \(unwanted)")
        let channels = world.network.current?.channels ?? []
        require(
            channels == subscribed,
            "the server has \(channels.sorted()), but the client has \(subscribed.sorted())"
        )
    }

    private var isRecovered: Bool {
        guard let client = world.client, client.connection.connectionState == .connected else { return false }
        return missing.isEmpty && (client.user.userId != nil) == world.wantsSignIn
    }

    private var missing: Set<String> {
        world.wanted.filter { (try? ChannelName($0)) != nil }.subtracting(subscribed)
    }

    // MARK: The end of the client

    /// Loses the connection, and repeats the checks on a connection that the input does not affect.
    private func loseConnection() {
        for server in world.network.servers { server.end() }
        world.settle()
        recover()
        guard let client = world.client else { return }
        require(!world.wantsSignIn || client.user.userId == "me", "the user is \(client.user.userId ?? ""), not me")
        for case let channel as PusherPresenceChannel in client.connection.channels.channels.values {
            let members = channel.members.map(\.userId)
            require(
                members == ["me"] || !channel.subscribed,
                "the members of \(channel.name) are \(members), not only me"
            )
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
            require(client.engine.resources.isIdle, "after disconnect(): \(client.engine.resources)")
        }
        require(world.network.servers.isEmpty, "a socket is open after disconnect()")
        weak let engine = world.client?.engine
        world.drop()
        world.settle()
        require(engine == nil, "the client is not freed")
        require(world.requester.isShutDown, "the requester is not shut down")
    }
}
