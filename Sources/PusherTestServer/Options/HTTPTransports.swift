extension PusherTestServer {
    /// How the server carries the protocol over plain HTTP, as pusher-js uses it where WebSockets do not get through:
    /// `xhr_streaming` and `xhr` (polling) with `xhr_send`, in the frames of SockJS.
    ///
    /// The URLs are `/{any prefix}/app/{key}/{server}/{session}/{xhr_streaming|xhr|xhr_send}`. The client chooses server
    /// and session: each 1 to 64 letters, digits, `-` and `_`.
    public struct HTTPTransports: Hashable, Sendable {
        /// What a poll gets while another receiving request of its session is open.
        public enum SecondPoll: Hashable, Sendable, CaseIterable {
            /// `c[2010,"Another connection still open"]`, as SockJS does it. Session and first request go on.
            case refused
            /// The frames from now on. The request before it is answered with a heartbeat if it is a poll, and ended if it
            /// is a stream.
            case takesOver
        }

        /// Whether there are such transports. If `false`, their URLs are answered with 404. Default: `true`.
        public var isEnabled = true
        /// What must stand before `/app/` in the path, for example `/pusher`; nil, the default, allows anything.
        public var pathPrefix: String?
        /// The host that the open frame tells the client to go on with; nil, the default, tells none.
        public var hostname: String?
        /// After this long without a frame, a stream gets a heartbeat, and a poll is answered with one. Default: 25 s.
        public var heartbeatInterval: Duration = .seconds(25)
        /// How long a session lives without a receiving request. Default: 5 s.
        public var disconnectDelay: Duration = .seconds(5)
        /// How many bytes may wait for the client of one session. With more, the session is lost: the receiving request
        /// ends without a close frame, and later ones are answered with 404. Default: 16 MiB.
        public var maximumQueueSize = 16 << 20
        /// After how many bytes a client moves its session to a new stream. The server stops at the first frame beyond it
        /// and waits for the new request, so that no frame gets lost. Default: 256 KiB.
        public var streamLimit = 256 << 10
        /// How long the server waits for the request by which a client moves its session. After that it goes on in the old
        /// response. Default: 5 s.
        public var moveTime: Duration = .seconds(5)
        /// How many sessions there may be at once. A request for another one is answered with 503. Default: 16,384.
        public var maximumSessionCount = 16_384
        /// Whether a stream begins with SockJS's 2,048 `h` and a newline. Default: `true`.
        public var sendsPrelude = true
        /// What a poll gets while another receiving request of its session is open. Default: it is refused.
        public var secondPoll = SecondPoll.refused

        /// The defaults.
        public init() {}
    }
}
