package import NIOCore

/// An event of a connection. The connection reports its events on its event loop.
package enum WebSocketEvent: ~Escapable {
    /// The upgrade succeeded. The value is the subprotocol that the server chose.
    case opened(subprotocol: String?)
    /// The server refuses the upgrade. The response has no body, because the body may take a while. The error of
    /// ``closed(_:)`` contains it.
    case refused(WebSocketResponse)
    /// A whole text message in valid UTF-8. The bytes are in a buffer of the connection, so they are valid only until
    /// the receiver returns.
    case text(Span<UInt8>)
    /// A whole binary message.
    case binary(ByteBuffer)
    /// The server's answer to a ping.
    case pong(ByteBuffer)
    /// Other data that shows that the server is alive: a ping that the client has answered, or a part of a longer
    /// message.
    case activity
    /// The connection has reported all data of one read of the socket.
    case readComplete
    /// The last event. The connection reports this event as soon as it knows the code or the error. The closing
    /// handshake may not be complete yet.
    case closed(WebSocketClosure)
}
