extension PusherTestServer {
    /// The requests of HTTP transports.
    public struct TransportRequests: OptionSet, Hashable, Sendable {
        /// The raw value.
        public let rawValue: Int

        /// Makes a set from its raw value.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Requests for a stream (`xhr_streaming`).
        public static let streaming = Self(rawValue: 1)
        /// Polls (`xhr`).
        public static let polling = Self(rawValue: 2)
        /// Requests with messages of the client (`xhr_send`).
        public static let sending = Self(rawValue: 4)
        /// Requests whose responses carry frames to the client.
        public static let receiving: Self = [.streaming, .polling]
        /// All of them.
        public static let all: Self = [.streaming, .polling, .sending]
    }

    /// The answer to a request of an HTTP transport, instead of the normal one. The session survives unless stated
    /// otherwise.
    public enum TransportRequestFault: Hashable, Sendable {
        /// This HTTP status, for example 404. The messages in the request are lost.
        case status(Int)
        /// TCP ends. The messages in the request are lost.
        case dropped
        /// No answer; TCP stays open. The messages in the request are lost.
        case unanswered
        /// The normal answer, after this delay. The messages in the request take effect at that time, perhaps after
        /// those of newer requests.
        case delayed(Duration)
        /// TCP ends, but the messages in the request take effect. For other requests the same as ``dropped``.
        case answerLost
        /// As if a proxy had sent the poll twice: the copy gets the frames, and this one is answered with
        /// `c[2010,"Another connection still open"]`. The session ends. Only for polls; other requests get their normal
        /// answer.
        case duplicated
    }

    /// The answer to the next receiving request of a lost session. Its `xhr_send` always gets 404.
    public enum LostSession: Hashable, Sendable, CaseIterable {
        /// A new session of the same name, with a second open frame.
        case newSession
        /// Status 404.
        case notFound
    }
}
