import ServerSentEvents

extension EventStreamOptions {
    /// Reconnects at once.
    static var quick: EventStreamOptions { EventStreamOptions(reconnectionTime: .zero, retryPolicy: .delays([.zero])) }
}
