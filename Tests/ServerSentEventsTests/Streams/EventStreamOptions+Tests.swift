import ServerSentEvents

extension EventStreamOptions {
    /// Reconnects at once.
    static var quick: EventStreamOptions { EventStreamOptions(reconnectionTime: .zero, retryPolicy: .delays([.zero])) }

    /// Never reconnects.
    static var once: EventStreamOptions { EventStreamOptions(reconnection: .never) }
}
