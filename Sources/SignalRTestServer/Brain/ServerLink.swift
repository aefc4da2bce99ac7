/// A link that carries the bytes of one connection to the client. The caller makes all calls on the event loop.
protocol ServerLink: AnyObject {
    func write(_ bytes: [UInt8], isBinary: Bool)

    /// Writes the waiting bytes, and closes the link in the normal way of its transport.
    func close()

    /// Drops the link at once, like a network failure.
    func drop()
}
