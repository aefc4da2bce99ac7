/// One attempt to open a socket, and the socket that it opened. Inputs for an earlier attempt are ignored.
package struct AttemptID: Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// One channel object. A channel that is unsubscribed and subscribed again gets a new id.
package struct ChannelID: Hashable, Sendable, Comparable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// One wanted authorization. A retry is another ``AuthorizationTry`` of it.
package struct AuthorizationID: Hashable, Sendable, Comparable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// One call of an authorizer, or one entry in a request for several channels. An answer to a try that is not current is
/// ignored.
package struct AuthorizationTry: Hashable, Sendable, Comparable {
    package let id: AuthorizationID
    package let number: Int

    package init(_ id: AuthorizationID, number: Int) {
        self.id = id
        self.number = number
    }

    package static func < (left: Self, right: Self) -> Bool { (left.id, left.number) < (right.id, right.number) }
}

/// One question to a retry policy.
package enum RetryQuestionID: Hashable, Sendable {
    /// How long to wait before another attempt to connect. Each question has its own number.
    case connection(UInt64)
    /// How long to wait before another try of an authorization.
    case authorization(AuthorizationTry)
}

/// One call that waits for an outcome.
package struct WaiterID: Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// One timer. It fires at most once. A fired timer whose id is no longer current does nothing.
package struct TimerID: Hashable, Sendable {
    package enum Purpose: Hashable, Sendable, CaseIterable {
        /// An attempt to connect takes too long.
        case attempt
        /// The time to try again has come.
        case retry
        /// The client has been trying for so long that the app should know.
        case unavailable
        /// The server does not answer the closing handshake.
        case closing
        /// Check whether nothing came from the server for the activity timeout.
        case activity
        /// The server has not answered a ping.
        case pong
        /// The client has sent nothing for so long that the connection may be cut.
        case keepAlive
        /// The oldest pending subscription has taken too long.
        case subscription
        /// The server's limit allows more subscriptions.
        case subscriptionPace
        /// An authorizer does not answer, or it is time for another try.
        case authorization
        /// The server does not answer the sign-in.
        case signIn
        /// The server does not answer the subscription to the user's own channel.
        case ownChannel
        /// The server's limit allows more client events.
        case clientEvents
    }

    package let purpose: Purpose
    package let serial: UInt64
    /// The authorization that the timer belongs to, if it belongs to one.
    package let authorization: AuthorizationID?

    package init(_ purpose: Purpose, _ serial: UInt64, of authorization: AuthorizationID? = nil) {
        self.purpose = purpose
        self.serial = serial
        self.authorization = authorization
    }
}
