import PusherProtocol

extension PusherTestServer {
    /// The connections that a command addresses.
    public enum Target: Hashable, Sendable {
        /// Every connection.
        case all
        /// The connection with this socket id.
        case socket(String)
        /// Every connection that is subscribed to this channel.
        case subscribers(of: String)
    }

    /// A fault that makes a new connection fail. With an HTTP transport, the first receiving request counts as the
    /// upgrade.
    public enum ConnectionFault: Hashable, Sendable {
        /// The server answers the upgrade with this HTTP status.
        case refused(status: Int)
        /// The server never answers the upgrade.
        case stalled
        /// The server closes the TCP connection instead of answering the upgrade.
        case dropped
        /// The upgrade succeeds, but the server sends nothing until ``PusherTestServer/speakAgain(_:)``.
        case silent
        /// The upgrade succeeds, and the server sends a close frame instead of `pusher:connection_established`. If the
        /// code is nil, the frame has no code.
        case closed(code: Int?, reason: String = "")
        /// The server sends `pusher:connection_established`, and then a close frame.
        case closedAfterHandshake(code: Int?, reason: String = "")
        /// The server sends `pusher:error` instead of `pusher:connection_established`. Then the server closes the TCP
        /// connection without a close frame.
        case error(code: Int?, message: String)
        /// The server sends this text instead of `pusher:connection_established`. The connection stays open.
        ///
        /// If the text is a `pusher:connection_established` with a valid socket id, the connection has this id.
        /// Authorizations, commands and records use this id. Several connections may have the same id.
        case firstMessage(String)

        /// The socket id in the fault's message, which replaces the server's id.
        var socketID: String? {
            guard case .firstMessage(let text) = self, let message = try? Envelope(decoding: text),
                message.event == EventName.connectionEstablished,
                let socketID = message.data.value?["socket_id"]?.string, SocketID.isValid(socketID)
            else { return nil }
            return socketID
        }
    }

    /// The answer to a `pusher:subscribe`, instead of the normal answer.
    public enum SubscriptionFault: Hashable, Sendable {
        /// No answer, and the connection is not subscribed.
        case unanswered
        /// `pusher:error` with this code and message, without the channel's name.
        case error(code: Int?, message: String)
        /// `pusher:subscription_error` on the channel.
        case subscriptionError(type: String = "AuthError", message: String, status: Int = 401)
        /// This text. If the text is the channel's `pusher_internal:subscription_succeeded`, the connection is
        /// subscribed, even with an invalid authorization. The fault adds no member to a presence channel.
        case text(String)
    }
}
