/// The time that the machines live in: one that goes on while the computer is suspended.
package typealias Instant = ContinuousClock.Instant

/// One try to open a socket, and that socket's life. Whatever names an attempt that is over is ignored.
package struct AttemptID: Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// One channel object. A channel that is unsubscribed and subscribed again has a new one.
package struct ChannelID: Hashable, Sendable, Comparable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// One question to the retry policy.
package struct RetryQuestionID: Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// One call that waits for an outcome.
package struct WaiterID: Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// One timer. It fires at most once; a fired timer whose id is no longer current does nothing.
package struct TimerID: Hashable, Sendable {
    package enum Purpose: Hashable, Sendable, CaseIterable {
        /// An attempt to connect takes too long.
        case attempt
        /// The time to try again has come.
        case retry
        /// The client has been trying for so long that the application should know.
        case unavailable
        /// The server does not answer the closing handshake.
        case closing
        /// Nothing may have come from the server for the activity timeout.
        case activity
        /// The server has not answered a ping.
        case pong
        /// The oldest subscription that is under way has taken too long.
        case subscription
    }

    package let purpose: Purpose
    package let serial: UInt64

    package init(_ purpose: Purpose, _ serial: UInt64) {
        self.purpose = purpose
        self.serial = serial
    }
}
