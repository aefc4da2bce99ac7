/// The state of the connection, in PusherSwift's terms. ``ConnectionStatus`` tells more.
public enum ConnectionState: Int, Sendable, CaseIterable {
    /// An attempt to connect is under way.
    case connecting
    /// The socket is open and the server has given it a socket id.
    case connected
    /// `disconnect()` was called, and the closing handshake is under way.
    case disconnecting
    /// There is no connection, and none is being tried: never connected, disconnected, or refused by the server.
    case disconnected
    /// The connection was lost or could not be made; the client waits before it tries again.
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

/// What the connection does right now, and why.
public enum ConnectionStatus: Hashable, Sendable {
    /// Nothing was tried yet.
    case initialized
    /// An attempt to connect is under way.
    case connecting
    /// Connected, under this socket id.
    case connected(socketID: String)
    /// Trying has not succeeded for ``PusherTimeouts/unavailable``. It goes on: this status
    /// stands in for ``connecting``, not for ``waiting(until:attempt:reason:)``, until the client is connected. The
    /// reason is that of the last failure, if there was one.
    case unavailable(reason: PusherClientError?)
    /// The next attempt starts at `until`, which is now where there is nothing to wait for: ``remaining(at:)`` is for a
    /// display of it. The reason is why it is needed. `attempt` counts from 1 since the connection last held
    /// for ``PusherTimeouts/backOffReset``.
    case waiting(until: ContinuousClock.Instant, attempt: Int, reason: PusherClientError)
    /// Trying again unchanged would be of no use: the server said so, or the options are wrong. `connect()` tries
    /// again all the same.
    case refused(PusherClientError)
    /// The closing handshake is under way.
    case disconnecting
    /// Disconnected, and it stays so until `connect()`. There is a reason where it was not `disconnect()`: reconnecting
    /// is switched off, or the retry policy gave up.
    case disconnected(reason: PusherClientError?)
}
