/// A connection, from the request for it to the end of TCP. Never used twice.
package struct ConnectionID: Hashable, Comparable, Sendable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }
    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// An HTTP request that needs an answer.
package struct RequestID: Hashable, Sendable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }
}

/// A timer, minted by the brain. A timer that fires after it was cancelled does nothing.
package struct TimerID: Hashable, Sendable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }
}

/// A message of a client on a WebSocket.
package enum ClientMessage: Hashable, Sendable {
    case text(String)
    case binary([UInt8])
    case ping([UInt8])
    case pong([UInt8])
    case close(code: Int?, reason: String)
    /// A violation of RFC 6455, with the code to close with.
    case violation(code: Int, reason: String)
}

/// A message of the server on a WebSocket.
package enum OutgoingFrame: Hashable, Sendable {
    case text(String)
    case binary([UInt8])
    case ping([UInt8])
    case pong([UInt8])
    case close(code: Int?, reason: String)
    /// Bytes outside of any frame.
    case rawBytes([UInt8])
}

/// The answer to an HTTP request.
package struct RESTResponse: Hashable, Sendable {
    package var status: Int
    /// The header fields besides the body's type and length.
    package var headers: [PusherTestServer.Request.Header]
    package var body: String

    package init(status: Int, headers: [PusherTestServer.Request.Header] = [], body: String) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The value of the first header field of that name, in any case.
    package func header(_ name: String) -> String? { headers.first(named: name) }
}

/// A part of the answer to an HTTP request: all of it, or a head, bytes and an end. After the last four, only an
/// abandonment can follow.
package enum ResponsePart: Hashable, Sendable {
    /// The head without the body, which follows in pieces.
    case head(RESTResponse)
    case bytes([UInt8])
    /// Everything that was written so far must be sent.
    case flush
    case whole(RESTResponse)
    case end
    /// TCP ends after everything that was written.
    case dropped
    /// TCP ends at once. Unsent bytes must not be sent any more.
    case abandoned
}

/// The actions for the engine, in order.
package enum ServerAction: Hashable, Sendable {
    /// Answer the upgrade with success.
    case accept(ConnectionID, subprotocol: String?)
    /// Answer the upgrade with an HTTP status, and end the connection.
    case refuse(ConnectionID, status: Int, body: String)
    case send(ConnectionID, OutgoingFrame)
    /// End TCP after everything was sent.
    case end(ConnectionID)
    case schedule(TimerID, after: Duration)
    case cancel(TimerID)
    case respond(RequestID, RESTResponse)
    /// Begin an answer whose body follows in pieces.
    case beginResponse(RequestID, status: Int, headers: [PusherTestServer.Request.Header])
    case write(RequestID, [UInt8])
    case endResponse(RequestID)
    /// End TCP instead of an answer to the request, or in the middle of it, after everything that was written.
    case drop(RequestID)
    /// End TCP in the middle of an answer. Unsent bytes must not be sent any more.
    case abandon(RequestID)
    /// Call ``ServerBrain/flush(_:)``.
    case flushSession(ConnectionID)
    /// Never answer the request.
    case ignore(RequestID)
    /// Post the body to the webhooks' URL.
    case webhook(String)
    /// Record what happened.
    case record(socketID: String?, PusherTestServer.Record.Event)
}

extension ServerAction {
    /// The HTTP request that the answer belongs to.
    var request: RequestID? {
        switch self {
        case .respond(let id, _), .beginResponse(let id, _, _), .write(let id, _), .endResponse(let id), .drop(let id),
            .abandon(let id), .ignore(let id):
            id
        case .accept, .refuse, .send, .end, .schedule, .cancel, .flushSession, .webhook, .record: nil
        }
    }
}
