import SignalRClient

/// A link that carries the bytes of one connection to the client. The caller makes all calls on the event loop.
protocol ServerLink: AnyObject {
    var transport: HttpTransportType { get }

    /// - Parameter pieceSize: The size of the pieces in which the link sends the bytes; `nil` for one piece.
    func write(_ bytes: [UInt8], isBinary: Bool, pieceSize: Int?)

    /// Writes the waiting bytes, and closes the link in the normal way of its transport. Later bytes are ignored.
    func close()

    /// Drops the link at once, like a network failure.
    func drop()
}

extension Array {
    /// Splits the array into pieces of a size, of which the last one may be shorter.
    func pieces(of size: Int?) -> [ArraySlice<Element>] {
        guard let size, !isEmpty else { return [self[...]] }
        return stride(from: 0, to: count, by: Swift.max(size, 1)).map { start in
            self[start..<Swift.min(start + Swift.max(size, 1), count)]
        }
    }
}
