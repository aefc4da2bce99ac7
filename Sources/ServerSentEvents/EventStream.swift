/// A stream of server-sent events.
///
/// ```swift
/// let stream = EventStream("https://example.com/feed")
/// for try await event in stream.events {
///     print(event.event, event.data)
/// }
/// ```
/// The client connects when your code takes the first event. It disconnects when your code stops iterating: by `break`,
/// by an error, by the cancellation of its task, or by the release of the iterator. It reads from the socket only as
/// fast as your code consumes events. After the loss of a connection it reconnects and asks the server to resume after
/// the last event, if the request may be repeated: see ``EventStreamOptions/Reconnection``.
///
/// You can iterate a stream once. Create another one to connect again, with ``lastEventID`` to resume.
public final class EventStream: Sendable {
    /// The state of the client.
    public enum State: Hashable, Sendable {
        /// Your code has not taken an event yet.
        case idle
        /// It connects. The number is that of the attempt: 1 for the first.
        case connecting(attempt: Int)
        /// The server has accepted the request.
        case open(EventStreamResponse)
        /// It waits before it reconnects. The number is that of the next attempt, which begins at `until`. To display
        /// the time, use ``remaining(at:)``.
        case waiting(until: ContinuousClock.Instant, attempt: Int, reason: EventStreamError)
        /// It will not connect again, because of the error, because your code stopped iterating or called
        /// ``EventStream/close()``, or because the stream is complete.
        case closed(EventStreamError?)

        /// The time until the next attempt; zero if it is due, and `nil` if the client does not wait.
        ///
        /// - Parameter now: The moment to count from. Default: now.
        public func remaining(at now: ContinuousClock.Instant = .now) -> Duration? {
            guard case .waiting(let until, _, _) = self else { return nil }
            return max(until - now, .zero)
        }

        /// The state in the terms of the web standard.
        public var readyState: ReadyState {
            switch self {
            case .idle, .connecting, .waiting: .connecting
            case .open: .open
            case .closed: .closed
            }
        }
    }

    /// The states of the web standard. Raw values: 0, 1 and 2.
    public enum ReadyState: Int, Hashable, Sendable {
        /// There is no connection yet, or it was lost.
        case connecting
        /// The server has accepted the request.
        case open
        /// There is no connection, and there will be none.
        case closed
    }

    let session: EventStreamSession

    /// Creates a stream for a URL. It does not connect yet.
    ///
    /// - Parameters:
    ///   - url: An `http` or `https` URL. If it is not one, taking the first event throws.
    ///   - lastEventID: The id of the event after which the server is asked to resume. Default: none.
    ///   - options: How the stream behaves.
    ///   - connector: Makes the connections. Default: one for this stream.
    public convenience init(
        _ url: String,
        lastEventID: String = "",
        options: EventStreamOptions = EventStreamOptions(),
        connector: EventStreamConnector = EventStreamConnector()
    ) {
        self.init(EventStreamRequest(url), lastEventID: lastEventID, options: options, connector: connector)
    }

    /// Creates a stream for a request. It does not connect yet.
    ///
    /// - Parameters:
    ///   - request: The request for each attempt to connect. If it cannot be sent, taking the first event throws.
    ///   - lastEventID: The id of the event after which the server is asked to resume. Default: none.
    ///   - options: How the stream behaves.
    ///   - connector: Makes the connections. Default: one for this stream.
    public init(
        _ request: EventStreamRequest,
        lastEventID: String = "",
        options: EventStreamOptions = EventStreamOptions(),
        connector: EventStreamConnector = EventStreamConnector()
    ) {
        session = EventStreamSession(.request(request), lastEventID: lastEventID, options, connector)
    }

    /// Creates a stream that calls a closure for the request before each attempt, for example because a token in it
    /// expires.
    ///
    /// - Parameters:
    ///   - lastEventID: The id of the event after which the server is asked to resume. Default: none.
    ///   - options: How the stream behaves.
    ///   - connector: Makes the connections. Default: one for this stream.
    ///   - request: Returns the request. The client also calls it again if the server answers with status 401 or 403.
    ///     If it throws, the attempt fails, and the client tries again if it may repeat the request. With
    ///     ``EventStreamOptions/Reconnection/automatic``, that depends on the last request that the closure returned.
    ///     If it throws before it has returned one, the stream fails. Its time counts toward
    ///     ``EventStreamOptions/responseTimeout``.
    public init(
        lastEventID: String = "",
        options: EventStreamOptions = EventStreamOptions(),
        connector: EventStreamConnector = EventStreamConnector(),
        request: @escaping @Sendable (EventStreamAttempt) async throws -> EventStreamRequest
    ) {
        session = EventStreamSession(.closure(request), lastEventID: lastEventID, options, connector)
    }

    // MARK: Events

    /// The events, in order. See ``EventStreamEvents``.
    public var events: EventStreamEvents { EventStreamEvents(session: session) }

    /// The events, the comments, and what happens to the connection, in order. See ``EventStreamItems``.
    public var items: EventStreamItems { EventStreamItems(session: session) }

    // MARK: The connection

    /// The current state of the client.
    public var state: State { session.state }

    /// The current state, and each change of it. The sequence keeps the newest 256 states for a consumer that is
    /// slower, and ends after ``State/closed(_:)``.
    public var states: AsyncStream<State> { session.states() }

    /// The id of the last event that had one. Empty if there was none. It is updated each time that your code waits for
    /// an event, and when it stops iterating. Within the loop, see ``ServerSentEvent/id``.
    public var lastEventID: String { session.lastEventID }

    /// The shortest wait before the client reconnects: ``EventStreamOptions/reconnectionTime``, or the server's `retry`
    /// field, up to 10 minutes.
    public var reconnectionTime: Duration { session.reconnectionTime }

    /// The stream's counts.
    public var statistics: EventStreamStatistics { session.statistics }

    /// Drops the connection, and connects again when your code has consumed the events that have arrived. If there is
    /// no connection, it connects at once. It has no effect if your code does not iterate. It repeats any request.
    public func restart() { session.restart() }

    /// Closes the stream for good, and returns at once. The sequences end without an error. Events that your code has
    /// not consumed are discarded. It can be called from any thread and more than once.
    public func close() { session.close() }
}
