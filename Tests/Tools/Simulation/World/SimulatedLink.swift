/// A carrier of messages through the simulated network: a WebSocket, or a session over HTTP.
protocol SimulatedLink: AnyObject, Sendable {
    /// The number of the client that opened the link.
    var client: Int { get }
    /// Whether the link is closed on the client's side.
    var isEnded: Bool { get }
    /// Whether the network loses everything in one direction.
    var isSilent: Bool { get }
    /// Whether the link is open, and nothing is in transit in either direction.
    var isQuiet: Bool { get }

    /// Makes the network lose everything from now on.
    func lose(toClient: Bool, toServer: Bool)
    /// Cuts the TCP connection. The two sides notice the loss at different times.
    func cut(clientHearsAfter delay: Duration)
    /// Makes the server notice that the client has left.
    func tellServerOfEnd()
}
