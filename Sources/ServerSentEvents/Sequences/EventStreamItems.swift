/// An item of an event stream.
public enum EventStreamItem: Hashable, Sendable {
    /// The server has accepted the request.
    case opened(EventStreamResponse)
    /// An event that the server sent.
    case event(ServerSentEvent)
    /// A comment. The value is the text after the colon.
    case comment(String)
    /// The connection was lost, or an attempt failed, and the client will reconnect. ``EventStream/state`` already
    /// contains the time of the next attempt. If your code is slow and several losses follow each other, the sequence
    /// keeps only the last loss.
    case lost(EventStreamError)
}

/// The events, the comments, and the changes of the connection, in order.
///
/// The client connects when your code iterates the sequence. See ``EventStream``. The sequence ends when the stream is
/// complete or closed, and when the iterating task is cancelled. The sequence throws an ``EventStreamError`` if the
/// stream fails.
public struct EventStreamItems: AsyncSequence, Sendable {
    /// The elements are items.
    public typealias Element = EventStreamItem
    /// The error of the sequence.
    public typealias Failure = EventStreamError

    let stream: EventStream

    /// Creates an iterator. You can use only the first iterator of a stream.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(reader: EventStreamReader(stream, reportsComments: true))
    }

    /// An iterator over the items.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let reader: EventStreamReader

        /// Returns the next item, or `nil` when the sequence has ended or the task is cancelled.
        public mutating func next() async throws(EventStreamError) -> EventStreamItem? { try await reader.next() }

        /// Returns the next item, or `nil` when the sequence has ended or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(EventStreamError)
            -> EventStreamItem?
        { try await reader.next() }
    }
}
