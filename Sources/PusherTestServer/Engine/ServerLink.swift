/// The server's end of one connection. All calls are made on the server's event loop.
package protocol ServerLink: Sendable {
    /// Answers the upgrade with success. Frames follow.
    func accept(subprotocol: String?)
    /// Answers the upgrade with an HTTP status and ends the connection.
    func refuse(status: Int, body: String)
    /// Writes a frame, to go out with the next ``flush()``.
    func send(_ frame: OutgoingFrame)
    /// Ends TCP once what was sent has gone out. The engine then hears of the end, as of every other.
    func end()
    /// Sends what was written since the last flush.
    func flush()
}
