extension PusherTestServer {
    /// The answer to a request to an authorization endpoint, instead of the normal one.
    public enum AuthorizationFault: Hashable, Sendable {
        /// This HTTP status, with these header fields (for example `Retry-After`) and this body.
        case status(Int, headers: [Request.Header] = [], body: String = "")
        /// Status 200 with this body.
        case body(String)
        /// The normal answer, after this delay.
        case delayed(Duration)
        /// No answer. The connection stays open.
        case unanswered
        /// TCP ends.
        case dropped
        /// The normal answer, signed with another secret.
        case wrongSignature
        /// The normal answer, with a `shared_secret` that does not open the channel's events. Channels that are not
        /// encrypted get their normal answer.
        case wrongSharedSecret
        /// A redirect with this status to this URL or path, for example `/pusher/auth?again`.
        case redirected(status: Int = 307, to: String)
    }
}
