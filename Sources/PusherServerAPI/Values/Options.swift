public import Logging
public import RealtimeNetworking
public import RealtimePrimitives

extension PusherServerAPI {
    /// The options of requests. Every option has a default.
    public struct Options: Sendable {
        /// The time limit of a method that makes a request, including retries. Default: 10 s.
        public var timeout: Duration = .seconds(10)
        /// The policy that decides the wait before a retry. Default: two retries with exponential back-off and full
        /// jitter, from 0.2 s up to 2 s.
        ///
        /// The library retries a request only if a retry is safe. If a request only reads state, the library retries
        /// after a failed connection, and after the HTTP statuses 408, 429, 500, 502, 503 and 504. Other requests might
        /// take effect twice. So the library retries them only if it could not send them, or after status 429.
        public var retryPolicy: any RetryPolicy = .atMost(
            2,
            .exponential(base: .milliseconds(200), cap: .seconds(2))
        )
        /// The limits that the library checks before a request. Default: the limits of the hosted service.
        public var limits = Limits()
        /// The maximum difference between the time of a webhook and this machine's clock. Nil means no limit. Default: 5
        /// min.
        public var webhookMaximumAge: Duration? = .seconds(300)
        /// The certificates that the library trusts, and the certificate that it presents. Default: the system's trusted
        /// certificates.
        public var tls = TLSOptions()
        /// The proxy for requests. Default: the proxy that the environment names.
        public var proxy = HTTPProxy.environment
        /// The logger for requests and retries. The library logs at debug level, with metadata keys that start with
        /// `pusher.`. It never logs secrets, signatures or data. Default: a logger with the label `pusher.server-api`.
        public var logger = Logger(label: "pusher.server-api")

        /// Creates options with their defaults.
        public init() {}
    }

    /// The limits of a server. Raise the limits if your own server accepts more.
    public struct Limits: Hashable, Sendable {
        /// The longest data of an event, in bytes, after encryption. Default: 10,240.
        public var eventDataSize = 10_240
        /// The maximum number of channels of one event. Default: 100.
        public var channelsPerEvent = 100
        /// The maximum number of events of one batch. Default: 10.
        public var eventsPerBatch = 10

        /// Creates the limits of the hosted service.
        public init() {}
    }
}
