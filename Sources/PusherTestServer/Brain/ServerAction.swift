/// The id of a connection, valid from the client's request until the TCP connection closes. The server uses each id
/// once.
package struct ConnectionID: Hashable, Comparable, Sendable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }
    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The id of an HTTP request that needs an answer.
package struct RequestID: Hashable, Sendable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }
}

/// The brain's id of a timer. A timer that fires after its cancellation has no effect.
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
    /// A violation of RFC 6455, with the close code for the server's answer.
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
    /// The header fields without the body's length. If there is no `Content-Type`, the front end of a socket adds the
    /// field to a whole response.
    package var headers: HTTPHeaderFields
    package var body: String

    package init(status: Int, headers: HTTPHeaderFields = [:], body: String) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// Returns the value of the first header field with this name, ignoring case.
    package func header(_ name: String) -> String? { headers.first(named: name) }
}

/// A part of the answer to an HTTP request. An answer is either a whole response, or a head, bytes and an end. After
/// `whole`, `end` and `dropped`, only `flush` and `abandoned` can follow.
package enum ResponsePart: Hashable, Sendable {
    /// The head. The body follows in pieces.
    case head(RESTResponse)
    case bytes([UInt8])
    /// The front end must send all bytes that were written so far.
    case flush
    case whole(RESTResponse)
    case end
    /// The front end sends all written bytes, and then closes the TCP connection.
    case dropped
    /// The front end discards unsent bytes and closes the TCP connection at once.
    case abandoned
}

/// An action that the brain requests from the engine.
package enum ServerAction: Hashable, Sendable {
    /// Accept the upgrade.
    case accept(ConnectionID, subprotocol: String?)
    /// Answer the upgrade with an HTTP status, and close the TCP connection.
    case refuse(ConnectionID, status: Int, body: String)
    case send(ConnectionID, OutgoingFrame)
    /// Send all output, and then close the TCP connection.
    case end(ConnectionID)
    case schedule(TimerID, after: Duration)
    case cancel(TimerID)
    case respond(RequestID, RESTResponse)
    /// Begin an answer whose body follows in pieces.
    case beginResponse(RequestID, status: Int, headers: HTTPHeaderFields)
    case write(RequestID, [UInt8])
    case endResponse(RequestID)
    /// Send written bytes, and then close the TCP connection, without an answer or with an incomplete answer.
    case drop(RequestID)
    /// Discard unsent bytes, and close the TCP connection in the middle of an answer.
    case abandon(RequestID)
    /// Call ``ServerBrain/flush(_:)``.
    case flushSession(ConnectionID)
    /// Never answer the request.
    case ignore(RequestID)
    /// Post the body to the webhooks' URL.
    case webhook(String)
    /// Record an event.
    case record(socketID: String?, PusherTestServer.Record.Event)
}

extension ServerAction {
    /// The HTTP request that the action answers; nil for other actions.
    var request: RequestID? {
        switch self {
        case .respond(let id, _), .beginResponse(let id, _, _), .write(let id, _), .endResponse(let id), .drop(let id),
            .abandon(let id), .ignore(let id):
            id
        case .accept, .refuse, .send, .end, .schedule, .cancel, .flushSession, .webhook, .record: nil
        }
    }
}
