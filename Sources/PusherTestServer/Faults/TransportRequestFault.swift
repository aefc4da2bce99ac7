extension PusherTestServer {
    /// The requests of HTTP transports.
    public struct TransportRequests: OptionSet, Hashable, Sendable {
        /// The raw value.
        public let rawValue: Int

        /// Creates a set from its raw value.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Requests for a stream (`xhr_streaming`).
        public static let streaming = Self(rawValue: 1)
        /// Polls (`xhr`).
        public static let polling = Self(rawValue: 2)
        /// Requests with messages of the client (`xhr_send`).
        public static let sending = Self(rawValue: 4)
        /// Requests whose responses carry frames to the client.
        public static let receiving: Self = [.streaming, .polling]
        /// All requests.
        public static let all: Self = [.streaming, .polling, .sending]
    }

    /// The answer to a request of an HTTP transport, instead of the normal answer. The session stays open unless the
    /// fault's description says otherwise.
    public enum TransportRequestFault: Hashable, Sendable {
        /// This HTTP status, for example 404. The messages in the request are lost.
        case status(Int)
        /// The server closes the TCP connection. The messages in the request are lost.
        case dropped
        /// No answer. The TCP connection stays open. The messages in the request are lost.
        case unanswered
        /// The normal answer, after this delay. The messages in the request take effect after the delay, perhaps after
        /// messages of newer requests.
        case delayed(Duration)
        /// The server closes the TCP connection, but the messages in the request take effect. For requests without
        /// messages, this fault has the same effect as ``dropped``.
        case answerLost
        /// The poll gets `c[2010,"Another connection still open"]`, as if a proxy had sent it twice. The waiting frames
        /// are lost, and the session ends. Requests other than polls get their normal answer.
        case duplicated
    }

    /// The answer to the next receiving request of a lost session. An `xhr_send` request of a lost session always gets
    /// 404.
    public enum LostSession: Hashable, Sendable, CaseIterable {
        /// A new session with the same name, and a second open frame.
        case newSession
        /// Status 404.
        case notFound
    }
}
