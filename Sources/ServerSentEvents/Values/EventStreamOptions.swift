public import Logging
public import RealtimeJSON
public import RealtimePrimitives

/// The options of an event stream.
public struct EventStreamOptions: Sendable {
    /// The requests that the client repeats after a lost connection or a failed attempt.
    public enum Reconnection: Hashable, Sendable {
        /// The client repeats requests without a body whose method is GET, HEAD, REPORT or QUERY.
        case automatic
        /// The client repeats no request. The sequence ends with the response, and throws if the response was
        /// incomplete. If a closure makes the requests, the client still calls it again after status 401 or 403.
        case never
        /// The client repeats each request, with its body, if the stream has an id from which the server can resume.
        /// The server resumes from the id of the last event, or from the id that your code passed to the stream. An id
        /// with control characters does not count, because a header field cannot contain it.
        case resumable
        /// The client repeats each request, with its body, until the server has accepted one: after a failed connection,
        /// a loss or a timeout before the response, and a status in ``EventStreamOptions/retryableStatuses``. Once the
        /// response has begun, the client repeats only what ``automatic`` repeats. Use this mode for requests that cost
        /// money, for example to language models. A loss before the response does not tell whether the server has begun
        /// to work.
        case untilResponse
        /// The client repeats each request, with its body, even after events.
        case always
    }

    /// The requests that the client repeats. Default: ``Reconnection/automatic``.
    public var reconnection = Reconnection.automatic
    /// The shortest wait before the client reconnects. The server can change the time with a `retry` field, up to 10
    /// minutes. Default: 3 seconds.
    public var reconnectionTime = Duration.seconds(3)
    /// The policy that decides how long to wait before the next attempt. The client waits for at least the reconnection
    /// time. If every attempt would fail with the same error, the client stops without calling the policy. Default:
    /// random waits whose maximum doubles from 1 to 30 seconds, without a limit of attempts.
    ///
    /// The count of attempts starts again after an event, and after ``backOffReset``. For requests that ``Reconnection/always``
    /// or ``Reconnection/untilResponse`` repeat and ``Reconnection/automatic`` would not, the count never starts again, so
    /// `.atMost(1)` sends at most two requests.
    public var retryPolicy: any RetryPolicy = .exponential()
    /// The time after which an open connection resets the number of attempts, even without an event. See
    /// ``retryPolicy``. Default: 10 seconds.
    public var backOffReset = Duration.seconds(10)
    /// The statuses after which the client tries again, as after a lost connection. Before the next attempt, the client
    /// waits for at least the time in `Retry-After`, up to a day. With an empty set, the client behaves as browsers do.
    /// Default: 408, 429, 500, 502, 503, 504 and 529.
    public var retryableStatuses: Set<Int> = [408, 429, 500, 502, 503, 504, 529]
    /// The content types that the client reads as event streams, in lower case and without parameters. Add a type only if
    /// the body has the format of an event stream; for example, the client cannot read JSON lines. Default:
    /// `text/event-stream`.
    public var contentTypes: Set<String> = ["text/event-stream"]
    /// The content types whose whole body is one event of the type `message`, in lower case and without parameters. The
    /// event arrives when the body is complete, and the stream then ends without another request. An empty body leads to
    /// no event. The size of the body is limited by ``maximumMessageSize``. For example, servers of the Model Context
    /// Protocol answer with an event stream or with `application/json`. Default: none.
    public var wholeContentTypes: Set<String> = []
    /// The maximum number of redirects that the client follows in one attempt. Default: 20.
    public var maximumRedirects = 20
    /// Whether a redirect may lead from `https` to `http`. Default: false.
    public var allowsInsecureRedirects = false
    /// The names of the request's header fields that the client also sends to another origin after a redirect, in
    /// addition to `Accept`, `Cache-Control` and `Last-Event-ID`. Any server that the first server names then gets these
    /// fields, so do not list fields with secrets. The client never sends `Host` to another origin. Default: none.
    public var headersForOtherOrigins: Set<String> = []
    /// The time from the start of an attempt to the status and header fields of the response. Default: 60 seconds.
    public var responseTimeout = Duration.seconds(60)
    /// The time without data after which the client considers the connection lost; `nil` for no limit. Comments count
    /// as data. Default: 300 seconds.
    public var idleTimeout: Duration? = .seconds(300)
    /// The maximum number of bytes of an event's data and the current line together, and of a body that is one event.
    /// Default: 16 MiB.
    public var maximumMessageSize = 16 << 20
    /// The maximum number of bytes that wait for your code. At this number, the client stops reading from the socket.
    /// Default: 256 KiB.
    public var receiveBufferSize = 256 << 10
    /// The options for decoding events as your own types, if you pass no `JSONDecoder`. Default: names and dates as in a
    /// new `JSONDecoder`.
    public var decoding = JSONDecodingOptions()
    /// The logger of the client. The client logs at debug level, without data and ids. Default: a logger that discards
    /// everything.
    public var logger = Logger(label: "event-stream", factory: { _ in SwiftLogNoOpLogHandler() })

    /// Creates options with their defaults.
    public init() {}
}
