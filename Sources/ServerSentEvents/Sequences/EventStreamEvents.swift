/// The events of a stream, in order.
///
/// Iterating connects: see ``EventStream``. The sequence continues after the loss of a connection. It ends when the
/// stream is complete, when it is closed, and when the task that iterates is cancelled. It throws an
/// ``EventStreamError`` if the stream fails.
public struct EventStreamEvents: AsyncSequence, Sendable {
    /// The elements are events.
    public typealias Element = ServerSentEvent
    /// The sequence throws errors of the stream.
    public typealias Failure = EventStreamError

    let session: EventStreamSession

    /// Creates an iterator. Only the first one of a stream can be used.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(reader: EventStreamReader(session, reportsComments: false))
    }

    /// Returns one event after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let reader: EventStreamReader

        /// Returns the next event, or `nil` at the end and if the task is cancelled.
        public mutating func next() async throws(EventStreamError) -> ServerSentEvent? { try await reader.nextEvent() }

        /// Returns the next event, or `nil` at the end and if the task is cancelled.
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
