package import PusherProtocol
import RealtimeJSON

/// The user who is signed in.
package struct SignedInUser: Hashable, Sendable {
    package var id: String
    /// `user_data`, as JSON text.
    package var data: String

    /// The channel on which the server sends the user's own events.
    package var channelName: String { ChannelName.serverToUserPrefix + id }
}

extension SignedInUser {
    /// Reads the payload of `pusher:signin_success`. Returns nil if the payload names no user. Servers encode the data
    /// once or twice, and write ids as strings or numbers.
    init?(_ payload: Envelope.Payload) {
        guard let text = payload.read({ $0["user_data"].map { $0.string ?? $0.text } }),
            let id = JSONValue(parsing: text)?["id"]?.identifier, !id.isEmpty
        else { return nil }
        self.init(id: id, data: text)
    }
}

/// The sign-in on one connection.
package struct SignInStateMachine: Hashable, Sendable {
    package enum Phase: Hashable, Sendable {
        /// The app has not requested a sign-in on this connection, or has signed out.
        case idle
        case authorizing(AuthorizationID)
        case signingIn
        case signedIn(SignedInUser)
        /// The sign-in failed for a reason that may pass. The client tries again after a wait (``Retries``).
        case retrying
        /// The sign-in failed for good. The client tries again on the next connection, or when the app calls `signIn()`.
        case failed(PusherClientError)
    }

    /// A channel on which the server sends a user's own events. It is not in the table of channels, because apps would
    /// find a channel there that they did not subscribe to, and could unsubscribe from it.
    package enum OwnChannel: Hashable, Sendable {
        case asked
        /// The answer did not come in time, or the client does not need it any more. The answer may still come.
        case overdue
        case subscribed
    }

    package private(set) var phase = Phase.idle
    /// The users' own channels that the client requested, and that the server has not refused. They stay in the table
    /// after a sign-out. Only the last channel can be pending.
    package internal(set) var ownChannels = WireTable<OwnChannel>()
    /// The user of the last sign-in; `nil` if there was none since ``signedOut()``.
    private var requestedUserID: String?
    /// Whether the server may still answer a sign-in from before ``signedOut()``.
    private var isAnswerGivenUp = false
    /// The watched users who are online according to the server's reports.
    package private(set) var online: Set<WireText> = []
    private var onlineSize = 0
    /// Whether the list was full when a user came online.
    private var leavesOut = false

    package init() {}

    package var user: SignedInUser? {
        guard case .signedIn(let user) = phase else { return nil }
        return user
    }

    /// Whether the outcome of the sign-in is pending.
    package var isUnderWay: Bool {
        switch phase {
        case .authorizing, .signingIn, .retrying: true
        case .idle, .signedIn, .failed: false
        }
    }

    package var isAwaitingServer: Bool {
        if case .signingIn = phase { true } else { false }
    }

    /// The user's own channel, if the server has not answered the subscription.
    package var awaitedOwnChannel: String? { ownChannels.first { $0.value == .asked }?.key }

    /// Whether a user is signed in, and the server has not answered the subscription to their own channel.
    package var isAwaitingOwnChannel: Bool {
        user.map { ownChannels[$0.channelName] == .asked } ?? false
    }

    /// Returns whether a success belongs to the current sign-in, and not to a sign-in before a sign-out.
    func isMeant(_ user: SignedInUser) -> Bool {
        !isAnswerGivenUp || requestedUserID?.hasSameBytes(as: user.id) == true
    }

    /// Notes that the authorization has begun.
    mutating func authorizationBegan(_ id: AuthorizationID) { phase = .authorizing(id) }

    /// Notes that the client has sent the sign-in.
    mutating func sent(userID: String) {
        requestedUserID = userID
        phase = .signingIn
    }

    mutating func succeeded(_ user: SignedInUser) { phase = .signedIn(user) }

    mutating func failed(_ error: PusherClientError) { phase = .failed(error) }

    /// Handles a failure that may pass.
    mutating func postponed() { phase = .retrying }

    /// Handles a sign-out by the app.
    mutating func signedOut() {
        let old = self
        self = SignInStateMachine()
        ownChannels = old.ownChannels
        isAnswerGivenUp = old.isAnswerGivenUp || old.requestedUserID != nil && old.user == nil
    }

    /// Handles a report of users who came online or went offline. Returns `true` if the list was full for the first
    /// time.
    package mutating func watched(_ name: String, _ ids: [String], _ limit: PresenceRoster.Limit) -> Bool {
        let hasLeftOut = leavesOut
        switch name {
        case EventName.online:
            for id in ids where !online.contains(WireText(id)) {
                if online.count < limit.count, onlineSize + id.utf8.count <= limit.size {
                    online.insert(WireText(id))
                    onlineSize += id.utf8.count
                } else {
                    leavesOut = true
                }
            }
        case EventName.offline:
            for id in ids where online.remove(WireText(id)) != nil { onlineSize -= id.utf8.count }
        default: break
        }
        return leavesOut && !hasLeftOut
    }
}
