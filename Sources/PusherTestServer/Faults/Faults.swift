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

    /// The effect on a new connection, instead of the normal beginning.
    public enum ConnectionFault: Hashable, Sendable {
        /// The upgrade is answered with this HTTP status.
        case refused(status: Int)
        /// The upgrade is never answered.
        case stalled
        /// TCP ends instead of an answer to the upgrade.
        case dropped
        /// The upgrade succeeds, and nothing follows; see ``PusherTestServer/speakAgain(_:)``.
        case silent
        /// The upgrade succeeds, and a close frame comes instead of `pusher:connection_established`. Nil sends a close
        /// frame without a code.
        case closed(code: Int?, reason: String = "")
        /// `pusher:connection_established`, and a close frame right after it.
        case closedAfterHandshake(code: Int?, reason: String = "")
        /// `pusher:error` instead of `pusher:connection_established`, then the end of TCP without a close frame.
        case error(code: Int?, message: String)
        /// This text instead of `pusher:connection_established`; the connection stays open.
        ///
        /// If the text is a `pusher:connection_established` with a socket id, the connection is established with that
        /// id. Authorizations are checked against it, and commands and records use it. Several connections may have the
        /// same one.
        case firstMessage(String)

        /// The socket id that the client is told instead of the server's.
        var socketID: String? {
            guard case .firstMessage(let text) = self, let message = try? Envelope(decoding: text),
                message.event == EventName.connectionEstablished,
                let socketID = message.data.value?["socket_id"]?.string, SocketID.isValid(socketID)
            else { return nil }
            return socketID
        }
    }

    /// The answer to a `pusher:subscribe`, instead of the normal one.
    public enum SubscriptionFault: Hashable, Sendable {
        /// No answer, and the connection is not subscribed.
        case unanswered
        /// `pusher:error` with this code and message, which does not name the channel.
        case error(code: Int?, message: String)
        /// `pusher:subscription_error` on the channel.
        case subscriptionError(type: String = "AuthError", message: String, status: Int = 401)
        /// This text. If it is the `pusher_internal:subscription_succeeded` of the channel, the connection is
        /// subscribed, whatever the client sent as its authorization. It adds no member to a presence channel.
        case text(String)
    }
}
