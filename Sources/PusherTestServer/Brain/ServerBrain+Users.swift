import PusherProtocol

/// The user who has signed in on a connection.
struct SignedInUser: Hashable, Sendable {
    let id: String
    /// JSON text.
    let info: String?
    let watchlist: [String]
}

/// Sign-ins, and the users' own channels (protocol clause 9).
extension ServerBrain {
    mutating func signIn(_ message: Envelope, on id: ConnectionID) {
        guard dialect.users.knowsSignIn else { return reportUnknownEvent(message.event, on: id) }
        let data = message.data.value
        guard let auth = data?["auth"]?.string, let userData = data?["user_data"]?.string else {
            return refuseSignIn("Signing in needs \"auth\" and \"user_data\" that are strings", on: id)
        }
        let text = StringToSign.user(socketID: socketID(of: id), userData: userData)
        if let message = fault(in: auth, for: text) { return refuseSignIn(message, on: id) }
        guard let members = JSONMembers(parsing: userData) else {
            return refuseSignIn("The user_data is not a JSON object", on: id)
        }
        guard let userID = members.value("id")?.identifier,
            UserID.isValid(userID)
        else { return refuseSignIn("The user_data has no id of 1 to 128 bytes", on: id) }
        if let current = connections[id]?.user, !current.id.hasSameBytes(as: userID) {
            return refuseSignIn("The connection is already signed in as another user", on: id)
        }
        let watchlist = members.value("watchlist")?.array?.compactMap(\.identifier) ?? []
        let isTooLong = watchlist.count > Self.maximumWatchlistCount
        let user = SignedInUser(
            id: userID,
            info: members.text("user_info"),
            watchlist: Array(watchlist.prefix(Self.maximumWatchlistCount))
        )
        if connections[id]?.user == nil { begin(user, on: id) }
        say(dialect.signInSuccess(userData: userData, auth: auth), to: id)
        guard dialect.users.sendsWatchlistEvents else { return }
        if isTooLong {
            let message = "The watchlist exceeds the allowed maximum (\(Self.maximumWatchlistCount) users)"
            say(dialect.error(code: 4302, message: message), to: id)
        }
        tellWatchlist(of: id)
    }

    private static let maximumWatchlistCount = 100

    private mutating func begin(_ user: SignedInUser, on id: ConnectionID) {
        connections[id]?.user = user
        let isFirst = users[user.id] == nil
        users[user.id, default: []].append(id)
        for watched in Set(user.watchlist.map(WireText.init)) { watchers[watched.text, default: []].append(id) }
        record(.signedIn(userID: user.id), id)
        if isFirst { tellWatchers(of: user.id, isOnline: true, but: id) }
    }

    /// Ends the sign-in on a connection.
    mutating func signOut(_ id: ConnectionID) {
        guard let user = connections[id]?.user else { return }
        connections[id]?.user = nil
        for watched in user.watchlist {
            watchers[watched]?.removeAll { $0 == id }
            if watchers[watched]?.isEmpty == true { watchers[watched] = nil }
        }
        users[user.id]?.removeAll { $0 == id }
        guard users[user.id]?.isEmpty == true else { return }
        users[user.id] = nil
        tellWatchers(of: user.id, isOnline: false, but: id)
    }

    private mutating func refuseSignIn(_ message: String, on id: ConnectionID) {
        record(.signInRefused(message: message), id)
        switch dialect.users.signInRefusal {
        case .error: say(dialect.error(code: nil, message: message), to: id)
        case .close: refuse(id, code: 4009, message: message)
        }
    }

    // MARK: Watchlists

    private mutating func tellWatchlist(of id: ConnectionID) {
        guard let watchlist = connections[id]?.user?.watchlist, !watchlist.isEmpty else { return }
        let online = watchlist.filter { users[$0] != nil }
        let offline = watchlist.filter { users[$0] == nil }
        say(dialect.watchlistEvents([("online", online), ("offline", offline)].filter { !$0.1.isEmpty }), to: id)
    }

    private mutating func tellWatchers(of userID: String, isOnline: Bool, but id: ConnectionID) {
        guard dialect.users.sendsWatchlistEvents, let ids = watchers[userID] else { return }
        let text = dialect.watchlistEvents([(isOnline ? "online" : "offline", [userID])])
        for watcher in ids where watcher != id { say(text, to: watcher) }
    }

    // MARK: The users' own channels

    /// Returns the connections on which a user is signed in, oldest first. The connections must be subscribed to the
    /// user's own channel, unless a fault prevents this subscription.
    func reachableConnections(ofUser userID: String) -> [PusherTestServer.Connection] {
        let channel = ChannelName.serverToUserPrefix + userID
        let isPossible = subscriptionFault(of: channel).map { $0.isSuccess(of: channel) } ?? true
        return openConnections.filter { connection in
            connection.userID?.hasSameBytes(as: userID) == true
                && (!isPossible || connection.subscribedChannels.contains(channel))
        }
    }

    mutating func subscribeToUserChannel(_ channel: String, on id: ConnectionID) {
        guard let user = connections[id]?.user, channel.hasSameBytes(as: ChannelName.serverToUserPrefix + user.id)
        else {
            return refuseSubscription(
                to: channel,
                SubscriptionRefusal(message: "Invalid channel name: \(Self.shortened(channel))"),
                on: id
            )
        }
        guard !isSubscribed(id, to: channel) else { return answerDuplicate(channel, on: id) }
        addSubscription(to: channel, on: id)
        say(dialect.subscriptionSucceeded(channel: channel), to: id)
    }

    package mutating func terminateConnections(ofUser userID: String) -> [ServerAction] {
        terminate(userID)
        return takeActions()
    }

    mutating func terminate(_ userID: String) {
        for id in users[userID] ?? [] { refuse(id, code: 4009, message: "You got disconnected by the app.") }
    }
}
