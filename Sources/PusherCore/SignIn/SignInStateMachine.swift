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
    /// The payload of `pusher:signin_success`; nil if it names no user. Servers write the data once or twice encoded,
    /// and ids as strings or numbers.
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
        /// Not requested on this connection, or the app has signed out.
        case idle
        case authorizing(AuthorizationID)
        case signingIn
        case signedIn(SignedInUser)
        /// The next connection tries again, or the app.
        case failed(PusherClientError)
    }

    /// A channel on which the server sends a user's own events.
    package enum OwnChannel: Hashable, Sendable {
        case asked
        /// The answer did not come in time, or is no longer needed, but may still come.
        case overdue
        case subscribed
    }

    package internal(set) var phase = Phase.idle
    /// The own channels that were requested and not refused. They stay here when the user signs out. At most one is
    /// pending, the last.
    package internal(set) var ownChannels: [String: OwnChannel] = [:]
    /// The user of the last sign-in; `nil` if there was none since ``signedOut()``.
    var askedFor: String?
    /// True if the server may still answer a sign-in from before ``signedOut()``.
    private var isAnswerGivenUp = false
    /// The watched users who are online, as far as the server has reported.
    package private(set) var online: Set<String> = []
    private var onlineSize = 0
    /// True after a user did not fit into the list.
    private var leavesOut = false

    package init() {}

    package var user: SignedInUser? {
        guard case .signedIn(let user) = phase else { return nil }
        return user
    }

    /// True if the outcome is pending.
    package var isUnderWay: Bool {
        switch phase {
        case .authorizing, .signingIn: true
        case .idle, .signedIn, .failed: false
        }
    }

    package var isAwaitingServer: Bool {
        if case .signingIn = phase { true } else { false }
    }

    /// The own channel whose subscription the server has not answered.
    package var awaitedOwnChannel: String? { ownChannels.first { $0.value == .asked }?.key }

    /// True while a user is signed in, and the server has not answered the subscription to their own channel.
    package var isAwaitingOwnChannel: Bool {
        user.map { ownChannels[$0.channelName] == .asked } ?? false
    }

    /// Whether a success belongs to the current sign-in, and not to one from before a sign-out.
    func isMeant(_ user: SignedInUser) -> Bool { !isAnswerGivenUp || askedFor == user.id }

    /// Handles that the app has signed out.
    mutating func signedOut() {
        let old = self
        self = SignInStateMachine()
        ownChannels = old.ownChannels
        isAnswerGivenUp = old.isAnswerGivenUp || old.askedFor != nil && old.user == nil
    }

    /// Handles a report of users who came online or went offline. Returns `true` if one did not fit, for the first
    /// time.
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
