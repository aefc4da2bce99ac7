/// A call of the app, or a stream that it uploads. Its text is the id in messages.
package struct CallID: Hashable, Sendable, CustomStringConvertible {
    package var number: UInt64

    package init(_ number: UInt64) { self.number = number }

    /// `nil` for an id that is not the client's.
    init?(wire: String) {
        guard let number = UInt64(wire) else { return nil }
        self.number = number
    }

    package var description: String { "\(number)" }
}

/// A waiting call of `start()`, `stop()` or `send()`.
package struct WaiterID: Hashable, Sendable {
    package var number: UInt64

    package init(_ number: UInt64) { self.number = number }
}

/// One attempt to open a transport, and the resulting transport.
package struct AttemptID: Hashable, Sendable {
    package var number: UInt64
}

/// A connection, from the handshake on, with its calls, streams and answers. It survives the loss of a transport that
/// is resumed.
package struct SessionID: Hashable, Sendable {
    package var number: UInt64
}

/// A question to the retry policy.
package struct QuestionID: Hashable, Sendable {
    package var number: UInt64
}

package struct TimerID: Hashable, Sendable {
    package enum Kind: Hashable, Sendable, CaseIterable {
        /// The server has not answered the handshake.
        case handshake
        /// The wait before the next attempt is over.
        case retry
        /// Check whether the client has been silent for a while.
        case keepAlive
        /// Check whether the server has been silent for too long.
        case serverTimeout
        /// Acknowledge received messages.
        case acknowledgement
        /// The wait before the next try to resume the connection is over.
        case resume
        /// The connection was not resumed in time.
        case resumeDeadline
        /// The transport did not close in time.
        case closing
    }

    package var kind: Kind
    var serial: UInt64
}

/// The transports of a connection.
public struct HttpTransportType: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: Int

    /// Creates a set from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// No transport.
    public static let none: HttpTransportType = []
    /// A WebSocket.
    public static let webSockets = HttpTransportType(rawValue: 1)
    /// Server-sent events, and requests for the client's messages. Only for JSON.
    public static let serverSentEvents = HttpTransportType(rawValue: 2)
    /// Requests that the server answers when it has messages.
    public static let longPolling = HttpTransportType(rawValue: 4)
}

/// The properties of an open transport.
package struct TransportInfo: Hashable, Sendable {
    /// The id that other clients may know; `nil` without a negotiation.
    package var connectionID: String?
    package var transport: HttpTransportType
    /// Whether the server allows resuming the connection.
    package var canBeResumed: Bool

    package init(connectionID: String?, transport: HttpTransportType, canBeResumed: Bool = false) {
        self.connectionID = connectionID
        self.transport = transport
        self.canBeResumed = canBeResumed
    }

    /// A server that answers polls is alive. Without messages, it is silent for longer than any timeout.
    var needsKeepAlive: Bool { transport != .longPolling }
}

/// A change of the connection that is reported to the app.
package enum HubStatus: Hashable, Sendable {
    case stopped(HubFailure?)
    /// Times are on the machine's clock.
    case connecting(attempt: Int, at: Duration, reason: HubFailure?)
    case connected(TransportInfo)
    case reconnecting(attempt: Int, at: Duration, reason: HubFailure?)
    /// The transport was lost, and the client tries to continue the same connection.
    case resuming(TransportInfo)
    case resumed(TransportInfo)
}
