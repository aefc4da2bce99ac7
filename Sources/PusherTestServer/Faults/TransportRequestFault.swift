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
        /// Requests that bring messages of the client (`xhr_send`).
        public static let sending = Self(rawValue: 4)
        /// Requests that bring frames to the client.
        public static let receiving: Self = [.streaming, .polling]
        /// All of them.
        public static let all: Self = [.streaming, .polling, .sending]
    }

    /// What a request of an HTTP transport gets in place of its normal answer. The session lives on unless it says
    /// otherwise.
    public enum TransportRequestFault: Hashable, Sendable {
        /// This HTTP status, for example 404. The messages in the request are lost.
        case status(Int)
        /// The end of TCP. The messages in the request are lost.
        case dropped
        /// Nothing, ever; TCP stays open. The messages in the request are lost.
        case unanswered
        /// The normal answer, this much later. The messages in the request are obeyed then, perhaps after those of newer
        /// requests.
        case delayed(Duration)
        /// The end of TCP, but the messages in the request are obeyed. For other requests the same as ``dropped``.
        case answerLost
        /// A proxy has sent the poll twice: the copy takes the frames, and this one is answered with
        /// `c[2010,"Another connection still open"]`. The session is over. Only for polls; others get their normal answer.
        case duplicated
    }

    /// What the next receiving request of a lost session gets. Its `xhr_send` always gets 404.
    public enum LostSession: Hashable, Sendable, CaseIterable {
        /// A new session of the same name, with a second open frame.
        case newSession
        /// Status 404.
        case notFound
    }
}
