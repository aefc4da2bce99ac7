extension PusherTestServer {
    /// A request to `/pusher/auth` about one channel; see ``Options/authorizeChannel``.
    public struct ChannelAuthorizationRequest: Sendable {
        /// The connection that wants to subscribe.
        public var socketID: String
        /// The channel's name.
        public var channel: String
        /// The form's fields, decoded. If a field appears twice, the last value counts.
        public var parameters: [String: String]
        /// The request as it was received, with its header fields and the bytes of its body.
        public var request: Request
    }

    /// A backend's answer to a ``ChannelAuthorizationRequest``.
    public enum ChannelAuthorization: Hashable, Sendable {
        /// The connection may subscribe.
        ///
        /// On presence channels, `userID` is the user's id, and `userInfo` is JSON text about the user. If a value is
        /// nil, the server uses the form's field `user_id` or `user_info`. If the form has no `user_id`, the server
        /// uses the socket id.
        case allow(userID: String? = nil, userInfo: String? = nil)
        /// The connection may subscribe, with this string as its `channel_data`. The server does not check the string.
        case allowWithData(String)
        /// The answer has this HTTP status and body.
        case refuse(status: Int = 403, body: String = "Forbidden")
    }

    /// A request to `/pusher/user-auth`; see ``Options/authenticateUser``.
    public struct UserAuthenticationRequest: Sendable {
        /// The connection that wants to sign in.
        public var socketID: String
        /// The form's fields, decoded. If a field appears twice, the last value counts.
        public var parameters: [String: String]
        /// The request as it was received, with its header fields and the bytes of its body.
        public var request: Request
    }

    /// A backend's answer to a ``UserAuthenticationRequest``.
    public enum UserAuthentication: Hashable, Sendable {
        /// The user has this id and watches these users. `userInfo` is JSON text about the user.
        ///
        /// If a value is nil, the server uses the form's field `user_id`, `user_info` or `watchlist` (a JSON array). If
        /// the form has no `user_id`, the server uses the socket id.
        case allow(userID: String? = nil, userInfo: String? = nil, watchlist: [String]? = nil)
        /// The user may sign in, with this string as the `user_data`. The server does not check the string.
        case allowWithData(String)
        /// The answer has this HTTP status and body.
        case refuse(status: Int = 403, body: String = "Forbidden")
    }
}

extension PusherTestServer.ChannelAuthorizationRequest: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The channel and the socket id. Other fields of the form may be secret.
    public var description: String { "\(channel) for \(socketID)" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension PusherTestServer.UserAuthenticationRequest: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The socket id. Other fields of the form may be secret.
    public var description: String { "user for \(socketID)" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
