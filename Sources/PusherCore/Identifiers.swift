/// The id of one attempt to open a socket, and of the socket. The machine ignores inputs for an earlier attempt.
package struct AttemptID: Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// The id of one channel object. A channel that is unsubscribed and subscribed again gets a new id.
package struct ChannelID: Hashable, Sendable, Comparable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The id of one authorization. Each try has an ``AuthorizationTry``.
package struct AuthorizationID: Hashable, Sendable, Comparable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The id of one call of an authorizer, or of one entry in a request for several channels. The machine ignores answers
/// to earlier tries.
package struct AuthorizationTry: Hashable, Sendable, Comparable {
    package let id: AuthorizationID
    package let number: Int

    package init(_ id: AuthorizationID, number: Int) {
        self.id = id
        self.number = number
    }

    package static func < (left: Self, right: Self) -> Bool { (left.id, left.number) < (right.id, right.number) }
}

/// The id of the retries of one subject.
package struct RetryID: Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// The id of a question to a retry policy.
package enum RetryQuestionID: Hashable, Sendable {
    /// A question about the wait before the next attempt to connect. Each question has its own number.
    case connection(UInt64)
    /// A question about the wait before the next try of an authorization, a subscription or a sign-in, after this number
    /// of failures.
    case request(RetryID, failures: Int)
}

/// The id of a box that the app's code opens.
package struct BoxID: Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// The id of a call that waits for an outcome.
package struct WaiterID: Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// The id of a timer. A timer fires at most once. If a timer with an old id fires, the machine ignores it.
package struct TimerID: Hashable, Sendable {
    package enum Purpose: Hashable, Sendable, CaseIterable {
        /// The attempt to connect has taken too long.
        case attempt
        /// The wait before the next attempt is over.
        case retry
        /// The client has tried to connect for so long that the status becomes unavailable.
        case unavailable
        /// The server has not answered the closing handshake.
        case closing
        /// The server may have sent nothing during the activity timeout.
        case activity
        /// The server has not answered a ping.
        case pong
        /// The client has sent nothing for so long that the network may cut the connection.
        case keepAlive
        /// The oldest pending subscription has taken too long.
        case subscription
        /// The server's limit allows more subscriptions.
        case subscriptionPace
        /// An authorizer has not answered.
        case authorization
        /// The wait before the next try of an authorization, a subscription or a sign-in is over.
        case nextTry
        /// The server has not answered the sign-in.
        case signIn
        /// The server has not answered the subscription to the user's own channel.
        case ownChannel
        /// The server's limit allows more client events.
        case clientEvents
    }

    // In this order, the properties need the least memory.

    package let serial: UInt64
    /// The ``AuthorizationID`` or ``RetryID`` of the timer, if the timer has the purpose ``Purpose/authorization`` or
    /// ``Purpose/nextTry``.
    package let owner: UInt64?
    package let purpose: Purpose

    package init(_ purpose: Purpose, _ serial: UInt64, of owner: UInt64? = nil) {
        self.purpose = purpose
        self.serial = serial
        self.owner = owner
    }
}
