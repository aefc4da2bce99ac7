/// The outcome of an attempt to connect.
package enum ConnectOutcome: Hashable, Sendable {
    /// The connection opens after this many milliseconds.
    case slow(milliseconds: Int)
    case refused
    /// The name cannot be resolved.
    case unresolvable
    /// The certificate is not trusted.
    case untrusted
    /// The server answers the upgrade with this HTTP status.
    case rejected(status: Int)
    /// The network loses every packet.
    case silent
}
