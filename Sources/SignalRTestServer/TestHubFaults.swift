/// A kind of request that a client makes.
public enum TestHubStep: Hashable, Sendable, CaseIterable {
    /// The negotiation.
    case negotiate
    /// The upgrade to a WebSocket.
    case webSocket
    /// The request for server-sent events.
    case serverSentEvents
    /// A poll.
    case poll
    /// A request with messages of the client.
    case post
    /// The request that deletes a connection.
    case delete
    /// The request that refreshes the authentication.
    case refresh
}

/// A fault of the server in its answer to a request.
public enum TestHubFault: Hashable, Sendable {
    /// The server answers with this HTTP status and an empty body.
    case status(Int)
    /// The server answers with status 200 and this body.
    case body(String)
    /// The server answers with this HTTP status and this body.
    case answer(Int, String)
    /// The server sends no byte, and leaves the TCP connection open.
    case silence
}

/// The server's answer to the handshake.
public enum TestHubHandshake: Hashable, Sendable {
    /// The server accepts a correct handshake with `{}` and the byte 0x1E.
    case normal
    /// The server sends nothing, also not after ``TestHubOptions/handshakeTimeout``.
    case silence
    /// The server sends `{"error":"…"}` with this reason and the byte 0x1E, and closes the transport.
    case refuse(String)
    /// The server sends these bytes instead of its answer, with no byte 0x1E after them. Afterwards, it waits for another
    /// handshake, without a time limit.
    case bytes([UInt8])
}
