/// The outcome of an attempt to connect.
package enum ConnectOutcome: Hashable, Sendable {
    /// The connection opens, this many milliseconds later.
    case slow(milliseconds: Int)
    case refused
    /// The name cannot be resolved.
    case unresolvable
    /// The certificate is not trusted.
    case untrusted
    /// The upgrade is answered with this HTTP status.
    case rejected(status: Int)
    /// Every packet is lost.
    case silent
}
