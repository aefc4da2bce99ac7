/// The state of the connection, in PusherSwift's terms. ``ConnectionStatus`` has more details. ``ConnectionStatus``
/// tells more.
public enum ConnectionState: Int, Sendable, CaseIterable {
    /// An attempt to connect is under way.
    case connecting
    /// The socket is open and the server has given it a socket id.
    case connected
    /// `disconnect()` was called, and the closing handshake is under way.
    case disconnecting
    /// There is no connection and no attempt: the client never connected, disconnected, or was refused by the server.
    case disconnected
    /// The connection was lost, or an attempt failed; the client waits before it tries again.
    case reconnecting

    /// The case's name.
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
