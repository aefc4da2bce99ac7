package import NIOCore

/// An event of a connection. The connector reports it on the connection's event loop.
package enum WebSocketEvent: ~Escapable {
    /// The upgrade succeeded. The subprotocol is the one that the server chose.
    case opened(subprotocol: String?)
    /// A whole text message, unmasked, its fragments joined, valid UTF-8. The bytes are valid only until the receiver
    /// returns, because they are in the read buffer.
    case text(Span<UInt8>)
    /// A whole binary message, its fragments joined.
    case binary(ByteBuffer)
    /// The server's answer to a ping.
    case pong(ByteBuffer)
    /// A ping of the server (already answered), or a part of a longer message: the server is alive.
    case activity
    /// All data of one read of the socket has been reported.
    case readComplete
    /// The end. It is reported as soon as the outcome is known, while the connector finishes the closing handshake.
    case closed(WebSocketClosure)
}
