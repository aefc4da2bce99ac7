/// What carries messages through the simulated network: a WebSocket, or a session over HTTP.
protocol SimulatedLink: AnyObject, Sendable {
    /// Whose it is.
    var client: Int { get }
    /// Whether it is over for the client.
    var isEnded: Bool { get }
    /// Whether everything in one direction is lost.
    var isSilent: Bool { get }
    /// Whether it stands, and nothing is on its way in either direction.
    var isQuiet: Bool { get }

    /// Loses everything from now on.
    func lose(toClient: Bool, toServer: Bool)
    /// Ends TCP, at different times for the two sides.
    func cut(clientHearsAfter delay: Duration)
    /// The server hears at last that the client has left.
    func tellServerOfEnd()
}
