/// The id of a call of the app, or of a stream that the app uploads. Messages contain the id as text.
package struct CallID: Hashable, Sendable, CustomStringConvertible {
    package var number: UInt64

    package init(_ number: UInt64) { self.number = number }

    /// The id in a message; `nil` if the client did not make the id.
    init?(wire: String) {
        guard let number = UInt64(wire) else { return nil }
        self.number = number
    }

    package var description: String { "\(number)" }
}

/// The id of a waiting call of `start()`, `stop()` or `send()`, or of an upload that waits until the client has sent an
/// item.
package struct WaiterID: Hashable, Sendable {
    package var number: UInt64

    package init(_ number: UInt64) { self.number = number }
}

/// The id of an attempt to open a transport, and of the resulting transport.
package struct AttemptID: Hashable, Sendable {
    package var number: UInt64
}

/// The id of a connection with its calls, streams and answers. A connection begins with the handshake. The id stays the
/// same when the client resumes the connection over another transport.
package struct SessionID: Hashable, Sendable {
    package var number: UInt64
}

/// The id of a refresh of the connection's authentication.
package struct RefreshID: Hashable, Sendable {
    package var number: UInt64
}

/// A purpose for which the machine waits for a time. If several times are over, the machine handles them in the order of
/// the times, and equal times in this order.
package enum WaitPurpose: Int, Hashable, Sendable, CaseIterable {
    /// The time limit for the server's answer to the handshake.
    case handshake
    /// The check whether the client has been silent for a while.
    case keepAlive
    /// The check whether the server has been silent for too long.
    case serverTimeout
    /// The time at which the client acknowledges received messages.
    case acknowledgement
    /// The end of the wait before the next attempt to resume the connection.
    case resume
    /// The time limit for resuming the connection.
    case resumeDeadline
    /// The time limit for closing the transport.
    case closing
    /// The time at which the client refreshes the authentication.
    case refresh
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
    /// Server-sent events for the server's messages, and requests for the client's messages. This transport supports
    /// only JSON.
    public static let serverSentEvents = HttpTransportType(rawValue: 2)
    /// Long polling: requests that the server answers when the server has messages.
    public static let longPolling = HttpTransportType(rawValue: 4)
}

/// The properties of an open transport.
package struct TransportInfo: Hashable, Sendable {
    /// The connection's id, which the server's methods use to address this client; `nil` without a negotiation.
    package var connectionID: String?
    package var transport: HttpTransportType
    /// Whether the server allows resuming the connection.
    package var canBeResumed: Bool
    /// Whether the client can refresh the authentication of the connection.
    package var canBeRefreshed = false
    /// The time until the authentication expires; `nil` if the server named none.
    package var tokenLifetime: Duration?

    package init(connectionID: String?, transport: HttpTransportType, canBeResumed: Bool = false) {
        self.connectionID = connectionID
        self.transport = transport
        self.canBeResumed = canBeResumed
    }

    /// Whether the client has to send pings and to detect a silent server. With long polling, the client does neither,
    /// because answers to polls may be further apart than any timeout.
    var needsKeepAlive: Bool { transport != .longPolling }
}

/// A change of the connection that the client reports to the app.
package enum HubStatus: Hashable, Sendable {
    case stopped(HubFailure?)
    case connecting(attempt: Int)
    /// The client waits before an attempt. The time is a time of the machine's clock.
    case waiting(until: Duration, attempt: Int, reason: HubFailure?)
    case connected(TransportInfo)
    /// The transport was lost, and the client tries to resume the same connection.
    case resuming(TransportInfo)
    case resumed(TransportInfo)
}
