/// The end of a WebSocket connection.
public struct WebSocketClosure: Hashable, Sendable {
    /// The code of the server's close frame; `nil` if the server sent no close frame. If the frame has no code, the
    /// value is ``WebSocketCloseCode/noStatusReceived``.
    public var code: WebSocketCloseCode?
    /// The reason in the server's close frame, which may be empty.
    public var reason: String
    /// The problem; `nil` if the connection ended with a closing handshake, or ended after your code had closed it. If
    /// the server did not answer your close frame in time, the error has the code
    /// ``WebSocketError/Code/connectionClosed``.
    public var error: WebSocketError?

    /// Creates a closure.
    public init(code: WebSocketCloseCode?, reason: String = "", error: WebSocketError? = nil) {
        self.code = code
        self.reason = reason
        self.error = error
    }
}
