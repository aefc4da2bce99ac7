/// The server's end of one connection. The engine makes all calls on the server's event loop.
package protocol ServerLink: Sendable {
    /// Answers the upgrade with success. Frames follow.
    func accept(subprotocol: String?)
    /// Answers the upgrade with an HTTP status and closes the connection.
    func refuse(status: Int, body: String)
    /// Writes a frame, which the next ``flush()`` sends.
    func send(_ frame: OutgoingFrame)
    /// Sends all output, closes the TCP connection, and then reports the end to the engine.
    func end()
    /// Sends all frames that were written since the last flush.
    func flush()
}
