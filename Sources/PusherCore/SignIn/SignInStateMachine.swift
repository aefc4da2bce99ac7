import PusherProtocol

/// The user who is signed in.
package struct SignedInUser: Hashable, Sendable {
    package var id: String
    /// `user_data`, as JSON text.
    package var data: String

    /// The channel on which the server sends the user's own events.
    package var channelName: String { ChannelName.serverToUserPrefix + id }
}

extension SignedInUser {
    /// The payload of `pusher:signin_success`; nil if it names no user. Servers write the data once or twice
    /// encoded, and ids as strings or numbers.
    init?(_ payload: Envelope.Payload) {
        guard let data = payload.value?["user_data"] else { return nil }
        let text = data.string ?? data.jsonText
        guard let id = JSONValue(parsing: text)?["id"]?.identifier, !id.isEmpty else { return nil }
        self.init(id: id, data: text)
    }
}

/// The sign-in on one connection.
package struct SignInStateMachine: Hashable, Sendable {
    package enum Phase: Hashable, Sendable {
        /// Nobody has asked for it on this connection, or the app has signed out.
        case idle
        case authorizing(AuthorizationID)
        case signingIn
        case signedIn(SignedInUser)
        /// Tried again on the next connection, or when the app asks.
        case failed(PusherClientError)
    }

    /// A channel on which the server sends a user's own events.
    package enum OwnChannel: Hashable, Sendable {
        case asked
        /// Not answered in time, or not awaited any more: the answer may still come.
        case overdue
        case subscribed
    }

    package internal(set) var phase = Phase.idle
    /// Those that were asked for, and not refused: they stay so when the user signs out. One at the most is awaited, the
    /// last.
    package internal(set) var ownChannels: [String: OwnChannel] = [:]
    /// The user of the last sign-in; `nil` if there was none since ``signedOut()``.
    var askedFor: String?
    /// True if the server may still answer a sign-in of before ``signedOut()``.
    private var isAnswerGivenUp = false
    /// The users of the watchlist who are online, as far as the server has said.
    package private(set) var online: Set<String> = []
    private var onlineSize = 0
    /// True after a user did not fit into the list.
    private var leavesOut = false

    package init() {}

    package var user: SignedInUser? {
        guard case .signedIn(let user) = phase else { return nil }
        return user
    }

    /// True if the outcome is still to come.
    package var isUnderWay: Bool {
        switch phase {
        case .authorizing, .signingIn: true
        case .idle, .signedIn, .failed: false
        }
    }

    package var isAwaitingServer: Bool {
        if case .signingIn = phase { true } else { false }
    }

    /// The own channel whose subscription the server has still to answer.
    package var awaitedOwnChannel: String? { ownChannels.first { $0.value == .asked }?.key }

    /// True while a user is signed in, and the server has still to answer the subscription to their own channel.
    package var isAwaitingOwnChannel: Bool {
        user.map { ownChannels[$0.channelName] == .asked } ?? false
    }

    /// Whether a success can be that of what is wanted, and not that of what was before a sign-out.
    func isMeant(_ user: SignedInUser) -> Bool { !isAnswerGivenUp || askedFor == user.id }

    /// The app wants nobody signed in any more.
    mutating func signedOut() {
        let old = self
        self = SignInStateMachine()
        ownChannels = old.ownChannels
        isAnswerGivenUp = old.isAnswerGivenUp || old.askedFor != nil && old.user == nil
    }

    /// The server reports users who came online or went offline. Returns `true` if one did not fit, for the first time.
    package mutating func watched(_ name: String, _ ids: [String], _ limit: PresenceRoster.Limit) -> Bool {
        let hasLeftOut = leavesOut
        switch name {
        case EventName.online:
            for id in ids where !online.contains(id) {
                if online.count < limit.count, onlineSize + id.utf8.count <= limit.size {
                    online.insert(id)
                    onlineSize += id.utf8.count
                } else {
                    leavesOut = true
                }
            }
        case EventName.offline:
            for id in ids where online.remove(id) != nil { onlineSize -= id.utf8.count }
        default: break
        }
        return leavesOut && !hasLeftOut
    }
}
