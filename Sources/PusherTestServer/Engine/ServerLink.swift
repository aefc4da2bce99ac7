/// The server's end of one connection. All calls are made on the server's event loop.
package protocol ServerLink: Sendable {
    /// Answers the upgrade with success. Frames follow.
    func accept(subprotocol: String?)
    /// Answers the upgrade with an HTTP status and ends the connection.
    func refuse(status: Int, body: String)
    /// Writes a frame, which the next ``flush()`` sends.
    func send(_ frame: OutgoingFrame)
    /// Ends TCP after everything was sent. The engine is then told of the end, as always.
    func end()
    /// Sends everything that was written since the last flush.
    func flush()
}
