public import Logging
public import RealtimeNetworking
public import RealtimePrimitives

extension PusherServerAPI {
    /// The options of requests. Every option has a default.
    public struct Options: Sendable {
        /// How long a method that makes a request may take, including retries. Default: 10 s.
        public var timeout: Duration = .seconds(10)
        /// How long to wait before a request is tried again. Default: exponential with full jitter, from 0.2 s up to 2 s,
        /// and two retries.
        ///
        /// A request is tried again only if that is safe. Requests that only read are tried again after a lost
        /// connection, and after the HTTP statuses 408, 429, 500, 502, 503 and 504. Other requests might take effect
        /// twice, so they are tried again only if there was no connection for them, and after status 429.
        public var retryPolicy: any RetryPolicy = .atMost(
            2,
            .exponential(base: .milliseconds(200), cap: .seconds(2))
        )
        /// The limits that are checked before a request is made. Default: the limits of the hosted service.
        public var limits = Limits()
        /// Which certificates the library trusts, and which one it shows. ``TLSOptions/pins`` are not checked. Default:
        /// the system's trusted certificates.
        public var tls = TLSOptions()
        /// The proxy that requests go through. Default: the proxy that the environment names.
        public var proxy = HTTPProxy.environment
        /// The logger for requests and retries. They are logged at debug level. Its metadata keys start with `pusher.`;
        /// secrets, signatures and data are never logged. Default: a logger with the label `pusher.server-api`.
        public var logger = Logger(label: "pusher.server-api")

        /// Options with their defaults.
        public init() {}
    }

    /// The limits of a server. Raise them if your own server accepts more.
    public struct Limits: Hashable, Sendable {
        /// The longest data of an event, in bytes, after encryption. Default: 10,240.
        public var eventDataSize = 10_240
        /// The most channels of one event. Default: 100.
        public var channelsPerEvent = 100
        /// The most events of one batch. Default: 10.
        public var eventsPerBatch = 10

        /// The limits of the hosted service.
        public init() {}
    }
}
