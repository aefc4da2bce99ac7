/// An item of an event stream.
public enum EventStreamItem: Hashable, Sendable {
    /// The server has accepted the request.
    case opened(EventStreamResponse)
    /// An event.
    case event(ServerSentEvent)
    /// The text of a comment: what follows the colon.
    case comment(String)
    /// The connection was lost, or an attempt failed, and the client will reconnect. ``EventStream/state`` already has
    /// the time. If several in a row wait for your code, only the last one is kept.
    case lost(EventStreamError)
}

/// The events of a stream, its comments, and what happens to the connection, in order.
///
/// Iterating connects: see ``EventStream``. The sequence ends when the stream is complete, when it is closed, and when the task that
/// iterates is cancelled. It throws an ``EventStreamError`` if the stream fails.
public struct EventStreamItems: AsyncSequence, Sendable {
    /// The elements are items.
    public typealias Element = EventStreamItem
    /// The sequence throws errors of the stream.
    public typealias Failure = EventStreamError

    let session: EventStreamSession

    /// Creates an iterator. Only the first one of a stream can be used.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(reader: EventStreamReader(session, reportsComments: true))
    }

    /// Returns one item after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let reader: EventStreamReader

        /// Returns the next item, or `nil` at the end and if the task is cancelled.
        public mutating func next() async throws(EventStreamError) -> EventStreamItem? { try await reader.next() }

        /// Returns the next item, or `nil` at the end and if the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(EventStreamError)
            -> EventStreamItem?
        { try await reader.next() }
    }
}
