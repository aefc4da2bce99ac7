extension PusherTestServer {
    /// The answer to a request to an authorization endpoint, instead of the normal answer.
    public enum AuthorizationFault: Hashable, Sendable {
        /// This HTTP status, with these header fields (for example `Retry-After`) and this body.
        case status(Int, headers: HTTPHeaderFields = [:], body: String = "")
        /// Status 200 with this body.
        case body(String)
        /// The normal answer, after this delay.
        case delayed(Duration)
        /// No answer. The connection stays open.
        case unanswered
        /// The server closes the TCP connection without an answer.
        case dropped
        /// The normal answer, signed with another secret.
        case wrongSignature
        /// The normal answer, with a `shared_secret` that does not decrypt the channel's events. Unencrypted channels
        /// get their normal answer.
        case wrongSharedSecret
        /// A redirect with this status to this URL or path, for example `/pusher/auth?again`.
        case redirected(status: Int = 307, to: String)
    }
}
