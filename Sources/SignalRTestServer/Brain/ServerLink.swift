/// A link that carries the bytes of one connection to the client. All calls are made on the event loop.
protocol ServerLink: AnyObject {
    func write(_ bytes: [UInt8], isBinary: Bool)

    /// Writes the waiting bytes, and ends the link as the transport does.
    func close()

    /// Ends the link at once, as a lost network does.
    func drop()
}
