extension PusherTestServer {
    /// The options of the transports over plain HTTP that pusher-js uses if WebSockets are blocked. These transports
    /// are `xhr_streaming` and `xhr` (polling) with `xhr_send`, in the frames of SockJS.
    ///
    /// The URLs are `/{any prefix}/app/{key}/{server}/{session}/{xhr_streaming|xhr|xhr_send}`. The client chooses
    /// `server` and `session`. Each of these two names has 1 to 64 letters, digits, `-` or `_`.
    public struct HTTPTransports: Hashable, Sendable {
        /// The answer to a poll while another receiving request of its session is open.
        public enum SecondPoll: Hashable, Sendable, CaseIterable {
            /// `c[2010,"Another connection still open"]`, as in SockJS. The session and the first request continue.
            case refused
            /// The poll gets the frames from now on. The server answers an earlier poll with a heartbeat, and ends an
            /// earlier stream.
            case takesOver
        }

        /// Whether the server supports these transports. If `false`, the server answers requests of these transports
        /// with 404. Default: `true`.
        public var isEnabled = true
        /// The part of the path before `/app/`, for example `/pusher`. Nil, the default, allows any prefix.
        public var pathPrefix: String?
        /// The host that the open frame names for later requests. Nil, the default, means that the open frame names no
        /// host.
        public var hostname: String?
        /// The time without a frame after which the server sends a heartbeat on a stream, or answers a poll with a
        /// heartbeat. Default: 25 s.
        public var heartbeatInterval: Duration = .seconds(25)
        /// The lifetime of a session without a receiving request. Default: 30 s. Real servers wait for 5 s, but a test whose
        /// machine is busy may need longer for its next request.
        public var disconnectDelay: Duration = .seconds(30)
        /// The limit for the bytes that wait for the client of one session. If more bytes wait, the server drops the
        /// session. The receiving request then ends without a close frame, and later requests get 404. Default: 16 MiB.
        public var maximumQueueSize = 16 << 20
        /// The length of a response after which a client moves its session to a new stream, in UTF-16 units, as
        /// pusher-js counts them. After the frame that exceeds this length, the server sends nothing in this response.
        /// The client gets all later frames in the next response. Default: 262,144. With a smaller value, pusher-js and
        /// PusherClient do not move: they lose the connection when the server ends the response after ``moveTime``.
        public var streamLimit = 256 << 10
        /// The maximum time that the server waits for a client to move its session. Afterwards, the server ends the
        /// response, and the session waits for the next receiving request for twice this time, or for
        /// ``disconnectDelay`` if that is longer. After a move, the server drops the old response if the client reads
        /// nothing of it for twice this time. Default: 5 s.
        public var moveTime: Duration = .seconds(5)
        /// The limit for the number of open sessions. The server answers a request for a further session with 503.
        /// Default: 16,384.
        public var maximumSessionCount = 16_384
        /// Whether a stream begins with 2,048 `h` characters and a newline, as in SockJS. Default: `true`.
        public var sendsPrelude = true
        /// The answer to a poll while another receiving request of its session is open. Default: a refusal.
        public var secondPoll = SecondPoll.refused

        /// Creates options with their defaults.
        public init() {}
    }
}
