extension PusherTestServer {
    /// A request to `/pusher/auth` about one channel: see ``Options/authorizeChannel``.
    public struct ChannelAuthorizationRequest: Sendable {
        /// The connection that wants to subscribe.
        public var socketID: String
        /// The channel's name.
        public var channel: String
        /// The form's fields, decoded. If a field appears twice, the last one counts.
        public var parameters: [String: String]
        /// The request as it was received, with its header fields and the bytes of its body.
        public var request: Request
    }

    /// A backend's answer to the question whether a connection may subscribe to a channel.
    public enum ChannelAuthorization: Hashable, Sendable {
        /// The connection may subscribe.
        ///
        /// On presence channels the user is who `userId` says, with `userInfo` as JSON text. If they are nil, the
        /// form's fields `user_id` and `user_info` count, and without the first of them the socket id.
        case allow(userId: String? = nil, userInfo: String? = nil)
        /// The connection may subscribe, with this text as `channel_data`, which may be anything.
        case allowWithData(String)
        /// The answer has this HTTP status and body.
        case refuse(status: Int = 403, body: String = "Forbidden")
    }

    /// A request to `/pusher/user-auth`: see ``Options/authenticateUser``.
    public struct UserAuthenticationRequest: Sendable {
        /// The connection that wants to sign in.
        public var socketID: String
        /// The form's fields, decoded. If a field appears twice, the last one counts.
        public var parameters: [String: String]
        /// The request as it was received, with its header fields and the bytes of its body.
        public var request: Request
    }

    /// A backend's answer to the question who a connection's user is.
    public enum UserAuthentication: Hashable, Sendable {
        /// The user is who `userId` says, with `userInfo` as JSON text, and watches these users.
        ///
        /// If they are nil, the form's fields `user_id`, `user_info` and `watchlist` (a JSON array) count, and
        /// without the first of them the socket id.
        case allow(userId: String? = nil, userInfo: String? = nil, watchlist: [String]? = nil)
        /// The connection's user has this text as `user_data`, which may be anything.
        case allowWithData(String)
        /// The answer has this HTTP status and body.
        case refuse(status: Int = 403, body: String = "Forbidden")
    }
}
