import PusherProtocol

/// One channel that the application wants, or that the server still thinks it wants.
package struct SubscriptionStateMachine: Hashable, Sendable {
    package enum Phase: Hashable, Sendable {
        /// Nothing is on its way: there is no connection.
        case idle
        /// The subscription was sent, and not answered yet.
        case subscribing(deadline: Instant)
        case subscribed
        /// Refused, or not answered in time. Tried again on the next connection, or when the application asks.
        case failed(PusherClientError)
        /// The name can never be subscribed; nothing is ever sent.
        case invalid(PusherClientError)
    }

    /// What has to be sent because of a call or a message.
    package enum Action: Hashable, Sendable {
        case none
        case subscribe
        case unsubscribe
    }

    package let name: String
    package private(set) var id: ChannelID
    package private(set) var phase: Phase
    /// False where the application has unsubscribed while the server's answer was under way: real servers refuse to end
    /// a subscription that is still in progress.
    package private(set) var isWanted = true
    package var subscriptionCount: Int?
    /// When the subscription was lost; nil where there was none.
    private var lostAt: Instant?
    package var waiters: [WaiterID] = []

    package init(name: String, id: ChannelID, phase: Phase = .idle) {
        self.name = name
        self.id = id
        self.phase = phase
    }

    package var isSubscribed: Bool { isWanted && phase == .subscribed }

    package var deadline: Instant? {
        guard case .subscribing(let deadline) = phase else { return nil }
        return deadline
    }

    package var isPending: Bool { deadline != nil }

    /// The application subscribes, or the connection has come to stand. `deadline` is nil where there is no connection.
    package mutating func subscribe(deadline: Instant?) -> Action {
        switch phase {
        case .idle, .failed:
            guard let deadline else { return .none }
            phase = .subscribing(deadline: deadline)
            return .subscribe
        case .subscribing, .subscribed, .invalid:
            return .none
        }
    }

    /// The application subscribes again before the end of the old subscription could be sent: the old one goes on, for a
    /// new channel object.
    package mutating func reinstate(as id: ChannelID) {
        self.id = id
        isWanted = true
        subscriptionCount = nil
        lostAt = nil
    }

    /// The application unsubscribes. True where the server has to answer first.
    package mutating func unsubscribe() -> (action: Action, mustStay: Bool) {
        switch phase {
        case .idle, .failed, .invalid:
            return (.none, false)
        case .subscribed:
            return (.unsubscribe, false)
        case .subscribing:
            isWanted = false
            return (.none, true)
        }
    }

    /// The server has confirmed. The time that the channel was away, where it had been subscribed before; nil where this
    /// is no news.
    package mutating func succeeded(now: Instant) -> (isNews: Bool, away: Duration?) {
        switch phase {
        case .subscribed, .invalid:
            return (false, nil)
        case .idle, .subscribing, .failed:
            phase = .subscribed
            defer { lostAt = nil }
            return (true, lostAt.map { now - $0 })
        }
    }

    package mutating func failed(_ error: PusherClientError) {
        if case .invalid = phase { return }
        phase = .failed(error)
    }

    /// The connection is gone.
    package mutating func connectionLost(now: Instant) {
        switch phase {
        case .subscribed:
            lostAt = now
            phase = .idle
        case .idle, .subscribing, .failed:
            phase = .idle
        case .invalid:
            break
        }
    }
}
