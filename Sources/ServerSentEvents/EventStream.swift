/// A stream of server-sent events.
///
/// ```swift
/// let stream = EventStream("https://example.com/feed")
/// for try await event in stream.events {
///     print(event.event, event.data)
/// }
/// ```
/// The client connects when your code takes the first event or calls ``connect()``. The client disconnects when your code stops iterating:
/// after `break`, after an error, when the task is cancelled, or when your code releases the iterator. The client reads
/// from the socket only as fast as your code consumes events.
///
/// After the loss of a connection, the client reconnects if it may repeat the request.
/// ``EventStreamOptions/Reconnection`` determines which requests it may repeat. The client asks the server to resume
/// after the last event.
///
/// You can iterate a stream once. To connect again, create another stream. To resume, pass the ``lastEventID`` of the
/// first stream to the new stream.
public final class EventStream: Sendable {
    /// The state of the client.
    public enum State: Hashable, Sendable {
        /// Your code has not taken an event yet, and has not called ``EventStream/connect()``.
        case idle
        /// The client connects. The number of the first attempt is 1.
        case connecting(attempt: Int)
        /// The connection is open: the server has accepted the request. ``EventStream/response`` is its response.
        case open
        /// The client waits before it reconnects. The next attempt has the number `attempt`, and begins at `until`. To
        /// display the time, use ``remaining(at:)``.
        case waiting(until: ContinuousClock.Instant, attempt: Int, reason: EventStreamError)
        /// The client does not connect again. The value is the error if the stream failed. Otherwise the stream is
        /// complete, or your code closed it or stopped iterating.
        case closed(EventStreamError?)

        /// Returns the time until the next attempt. The time is zero if the attempt is due, and `nil` if the client
        /// does not wait.
        ///
        /// - Parameter now: The time from which to count. Default: now.
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
        /// There is no connection yet, or the connection was lost.
        case connecting
        /// The server has accepted the request.
        case open
        /// There is no connection, and the client does not connect again.
        case closed
    }

    let session: EventStreamSession

    /// Creates a stream for a URL, without connecting.
    ///
    /// - Parameters:
    ///   - url: An `http` or `https` URL. If the URL is invalid, taking the first event throws.
    ///   - lastEventID: The id of the event after which the server resumes. Default: none.
    ///   - options: The options of the stream.
    ///   - connector: The connector that makes the connections. Default: a new connector for this stream.
    public convenience init(
        _ url: String,
        lastEventID: String = "",
        options: EventStreamOptions = EventStreamOptions(),
        connector: EventStreamConnector = EventStreamConnector()
    ) {
        self.init(EventStreamRequest(url), lastEventID: lastEventID, options: options, connector: connector)
    }

    /// Creates a stream for a request, without connecting.
    ///
    /// - Parameters:
    ///   - request: The request for each attempt to connect. If the client cannot send the request, taking the first
    ///     event throws.
    ///   - lastEventID: The id of the event after which the server resumes. Default: none.
    ///   - options: The options of the stream.
    ///   - connector: The connector that makes the connections. Default: a new connector for this stream.
    public init(
        _ request: EventStreamRequest,
        lastEventID: String = "",
        options: EventStreamOptions = EventStreamOptions(),
        connector: EventStreamConnector = EventStreamConnector()
    ) {
        session = EventStreamSession(.request(request), lastEventID: lastEventID, options, connector)
    }

    /// Creates a stream that calls a closure before each attempt, to make the request. Use this initializer if the
    /// request contains a token that expires.
    ///
    /// - Parameters:
    ///   - lastEventID: The id of the event after which the server resumes. Default: none.
    ///   - options: The options of the stream.
    ///   - connector: The connector that makes the connections. Default: a new connector for this stream.
    ///   - request: A closure that returns the request. If the server answers an attempt with status 401 or 403, the
    ///     client calls the closure once more. If the closure throws, the attempt fails, and the client tries again if
    ///     it may repeat the request. With ``EventStreamOptions/Reconnection/automatic``, the client checks the last
    ///     request that the closure returned. If the closure throws before it has returned a request, the stream fails.
    ///     The time that the closure takes counts toward ``EventStreamOptions/responseTimeout``.
    public init(
        lastEventID: String = "",
        options: EventStreamOptions = EventStreamOptions(),
        connector: EventStreamConnector = EventStreamConnector(),
        request: @escaping @Sendable (EventStreamAttempt) async throws -> EventStreamRequest
    ) {
        session = EventStreamSession(.closure(request), lastEventID: lastEventID, options, connector)
    }

    deinit { session.stop() }

    // MARK: Events

    /// The events, in order. See ``EventStreamEvents``.
    public var events: EventStreamEvents { EventStreamEvents(stream: self) }

    /// The events, the comments, and the changes of the connection, in order. See ``EventStreamItems``.
    public var items: EventStreamItems { EventStreamItems(stream: self) }

    // MARK: The connection

    /// Starts connecting before your code takes the first event, and returns at once. Events that arrive wait for your
    /// code. If your code has called the method already, takes events or has closed the stream, the call has no effect.
    public func connect() { session.connect() }

    /// Connects, and waits until the connection is open.
    ///
    /// The method continues to wait while the client retries failed attempts. A timeout and the cancellation of the
    /// task end the wait, not the attempts.
    ///
    /// - Parameter timeout: The time limit of the wait. Default: no limit.
    /// - Throws: ``EventStreamError`` with the code ``EventStreamError/Code/waitTimedOut`` after the time limit, or the
    ///   reason why the stream has failed. The code is ``EventStreamError/Code/connectionClosed`` if the stream is closed or
    ///   complete. `CancellationError` if the task is cancelled.
    public func connected(timeout: Duration? = nil) async throws { try await session.connected(within: timeout) }

    /// The current state of the client.
    public var state: State { session.state }

    /// The current state and all later states. For a slow consumer, the sequence keeps the newest 256 states. The
    /// sequence ends after ``State/closed(_:)``. If the app releases the stream and its sequences, the stream is closed.
    public var states: AsyncStream<State> { session.states() }

    /// The id of the last event that had an id; empty if no event had one. The client updates the property only when
    /// your code waits for an event, and when your code stops iterating. Within the loop, see ``ServerSentEvent/id``.
    public var lastEventID: String { session.lastEventID }

    /// The shortest wait before the client reconnects. The value is ``EventStreamOptions/reconnectionTime``, or the
    /// time in the server's `retry` field, up to 10 minutes.
    public var reconnectionTime: Duration { session.reconnectionTime }

    /// The response of the current connection, or of the last one; `nil` before the server has accepted a request.
    public var response: EventStreamResponse? { session.response }

    /// The stream's counts.
    public var statistics: EventStreamStatistics { session.statistics }

    /// Drops the connection, and reconnects when your code has consumed the events that have arrived.
    ///
    /// If the client is connecting or waiting, it begins a new attempt at once. Before your code takes the first event,
    /// and after the stream has closed, the call has no effect. The client repeats any request, regardless of
    /// ``EventStreamOptions/reconnection``.
    public func restart() { session.restart() }

    /// Closes the stream for good, and returns at once. The sequences end without an error, and the client discards all
    /// events that your code has not consumed. You can call the method from any thread and more than once.
    public func close() { session.close() }

    /// Closes the stream as ``close()`` does, and waits until it is closed.
    ///
    /// - Parameter timeout: The time limit of the wait. Default: no limit.
    /// - Throws: ``EventStreamError`` with the code ``EventStreamError/Code/waitTimedOut`` after the time limit.
    ///   `CancellationError` if the task is cancelled. In both cases, the stream still closes.
    public func closed(timeout: Duration? = nil) async throws {
        close()
        try await session.closed(within: timeout)
    }
}
