extension PusherTestServer {
    /// How the server carries the protocol over plain HTTP, as pusher-js uses it if WebSockets are blocked:
    /// `xhr_streaming` and `xhr` (polling) with `xhr_send`, in the frames of SockJS.
    ///
    /// The URLs are `/{any prefix}/app/{key}/{server}/{session}/{xhr_streaming|xhr|xhr_send}`. The client chooses server
    /// and session: each 1 to 64 letters, digits, `-` and `_`.
    public struct HTTPTransports: Hashable, Sendable {
        /// The answer to a poll while another receiving request of its session is open.
        public enum SecondPoll: Hashable, Sendable, CaseIterable {
            /// `c[2010,"Another connection still open"]`, as in SockJS. The session and the first request continue.
            case refused
            /// The poll gets the frames from now on. The earlier request is answered with a heartbeat if it is a poll,
            /// and ended if it is a stream.
            case takesOver
        }

        /// Whether the server has these transports. If `false`, their URLs are answered with 404. Default: `true`.
        public var isEnabled = true
        /// The part of the path before `/app/`, for example `/pusher`; nil, the default, allows any.
        public var pathPrefix: String?
        /// The host that the open frame names for later requests; nil, the default, names none.
        public var hostname: String?
        /// After this long without a frame, the server sends a heartbeat on a stream, and answers a poll with one.
        /// Default: 25 s.
        public var heartbeatInterval: Duration = .seconds(25)
        /// How long a session lives without a receiving request. Default: 5 s.
        public var disconnectDelay: Duration = .seconds(5)
        /// The most bytes that may wait for the client of one session. If more wait, the session is lost: the receiving
        /// request ends without a close frame, and later ones are answered with 404. Default: 16 MiB.
        public var maximumQueueSize = 16 << 20
        /// The number of bytes after which a client moves its session to a new stream. The server stops at the first
        /// frame beyond it and waits for the new request, so that no frame is lost. Default: 256 KiB.
        public var streamLimit = 256 << 10
        /// How long the server waits for the request with which a client moves its session. After that it continues in
        /// the old response. Default: 5 s.
        public var moveTime: Duration = .seconds(5)
        /// The most sessions at once. A request for another one is answered with 503. Default: 16,384.
        public var maximumSessionCount = 16_384
        /// Whether a stream begins with SockJS's 2,048 `h` and a newline. Default: `true`.
        public var sendsPrelude = true
        /// The answer to a poll while another receiving request of its session is open. Default: it is refused.
        public var secondPoll = SecondPoll.refused

        /// The defaults.
        public init() {}
    }
}
