public import Logging
public import RealtimePrimitives

/// How an event stream behaves.
public struct EventStreamOptions: Sendable {
    /// Which requests the client repeats after the connection was lost.
    public enum Reconnection: Hashable, Sendable {
        /// Requests that are safe to repeat: those of the methods GET, HEAD, REPORT and QUERY that have no body.
        case automatic
        /// None. The sequence ends with the response, and throws if the response was cut off. The client still calls a
        /// closure that makes the requests again if the server answers with status 401 or 403.
        case never
        /// All, if an event had an id from which the server can resume. The body is sent again. An id with control characters does
        /// not count, because HTTP cannot carry it.
        case resumable
        /// All. The body is sent again.
        case always
    }

    /// Which requests the client repeats. Default: ``Reconnection/automatic``.
    public var reconnection: Reconnection
    /// The shortest wait before the client reconnects. The server can change it by a `retry` field, up to 10 minutes.
    /// Default: 3 seconds.
    public var reconnectionTime: Duration
    /// The policy of longer waits, which count if they exceed the reconnection time. Default: up to 1 second, doubled
    /// up to 30 seconds, with full jitter, without a limit of attempts. The client does not call it after errors that
    /// every attempt would have.
    public var retryPolicy: any RetryPolicy
    /// How long a connection that brought no event must have been open before the retry policy starts again from its
    /// first delay. Default: 10 seconds.
    public var backOffReset: Duration
    /// The statuses after which the client tries again, as after a lost connection. In that case, `Retry-After` is a
    /// minimum, up to a day. Browsers use an empty set. Default: 408, 429, 500, 502, 503 and 504.
    public var retryableStatuses: Set<Int>
    /// The content types that the client reads as event streams, in lower case and without parameters. Default:
    /// `text/event-stream`.
    public var contentTypes: Set<String>
    /// The most redirects that the client follows in one attempt. Default: 20.
    public var maximumRedirects: Int
    /// Whether a redirect may lead from `https` to `http`. Default: false.
    public var allowsInsecureRedirects: Bool
    /// The time from the start of an attempt to the status and header fields of the response. Default: 60 seconds.
    public var responseTimeout: Duration
    /// The longest silence before the client considers the connection lost; `nil` for no limit. A comment ends the
    /// silence. Default: 300 seconds.
    public var idleTimeout: Duration?
    /// The most bytes that an event's data and the current line may have together. Default: 16 MiB.
    public var maximumEventSize: Int
    /// The most bytes that may wait for your code to consume their events. If more arrive, the client stops reading
    /// from the socket. Default: 256 KiB.
    public var receiveBufferSize: Int
    /// The logger. The client logs at debug level, without data and ids. Default: nil, no log.
    public var logger: Logger

    /// Creates options.
    public init(
        reconnection: Reconnection = .automatic,
        reconnectionTime: Duration = .seconds(3),
        retryPolicy: any RetryPolicy = .exponential(),
        backOffReset: Duration = .seconds(10),
        retryableStatuses: Set<Int> = [408, 429, 500, 502, 503, 504],
        contentTypes: Set<String> = ["text/event-stream"],
        maximumRedirects: Int = 20,
        allowsInsecureRedirects: Bool = false,
        responseTimeout: Duration = .seconds(60),
        idleTimeout: Duration? = .seconds(300),
        maximumEventSize: Int = 16 << 20,
        receiveBufferSize: Int = 256 << 10,
        logger: Logger = Logger(label: "event-stream", factory: { _ in SwiftLogNoOpLogHandler() })
    ) {
        self.reconnection = reconnection
        self.reconnectionTime = reconnectionTime
        self.retryPolicy = retryPolicy
        self.backOffReset = backOffReset
        self.retryableStatuses = retryableStatuses
        self.contentTypes = contentTypes
        self.maximumRedirects = maximumRedirects
        self.allowsInsecureRedirects = allowsInsecureRedirects
        self.responseTimeout = responseTimeout
        self.idleTimeout = idleTimeout
        self.maximumEventSize = maximumEventSize
        self.receiveBufferSize = receiveBufferSize
        self.logger = logger
    }
}
