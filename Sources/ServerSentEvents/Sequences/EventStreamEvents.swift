/// The events of a stream, in order.
///
/// The client connects when your code iterates the sequence. See ``EventStream``. The sequence continues after the loss
/// of a connection. The sequence ends when the stream is complete or closed, and when the iterating task is cancelled.
/// The sequence throws an ``EventStreamError`` if the stream fails.
public struct EventStreamEvents: AsyncSequence, Sendable {
    /// The elements are events.
    public typealias Element = ServerSentEvent
    /// The error of the sequence.
    public typealias Failure = EventStreamError

    let stream: EventStream

    /// Creates an iterator. You can use only the first iterator of a stream.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(reader: EventStreamReader(stream, reportsComments: false))
    }

    /// An iterator over the events.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let reader: EventStreamReader

        /// Returns the next event, or `nil` when the sequence has ended or the task is cancelled.
        public mutating func next() async throws(EventStreamError) -> ServerSentEvent? { try await reader.nextEvent() }

        /// Returns the next event, or `nil` when the sequence has ended or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(EventStreamError)
            -> ServerSentEvent?
        { try await reader.nextEvent() }
    }
}

extension EventStreamReader {
    func nextEvent() async throws(EventStreamError) -> ServerSentEvent? {
        while let item = try await next() {
            if case .event(let event) = item { return event }
        }
        return nil
    }
}
