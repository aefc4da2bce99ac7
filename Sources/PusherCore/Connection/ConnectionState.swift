/// The state of the connection, in PusherSwift's terms. Programs switch over the five cases, so there is no sixth case:
/// ``ConnectionStatus`` adds the reason, the time of the next attempt and its number.
public enum ConnectionState: Int, Sendable, CaseIterable {
    /// An attempt to connect is under way, or the client delays one for a second: see ``Pusher/connect()``.
    case connecting
    /// The socket is open, and the server has given the connection a socket id.
    case connected
    /// `disconnect()` was called, and the closing handshake is under way.
    case disconnecting
    /// There is no connection and no attempt. The client has not connected yet, the app has disconnected, or the client
    /// has stopped, for example because the server refused the client.
    case disconnected
    /// The connection was lost, or an attempt failed. The client waits before the next attempt.
    case reconnecting

    /// Returns the name of the case.
    public func stringValue() -> String {
        switch self {
        case .connecting: "connecting"
        case .connected: "connected"
        case .disconnecting: "disconnecting"
        case .disconnected: "disconnected"
        case .reconnecting: "reconnecting"
        }
    }
}
