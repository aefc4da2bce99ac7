extension PusherTestServer {
    /// An event that the server received or caused.
    public struct Record: Hashable, Sendable {
        /// The record's index in the log. The first record of the server has the index 0.
        public var index: Int
        /// The socket id of the record's connection; nil for HTTP requests and webhooks.
        public var socketID: String?
        /// What happened.
        public var event: Event

        /// An event in a record. Later versions may add cases, so keep a `default` when you switch over events.
        public enum Event: Hashable, Sendable {
            /// A client requested an upgrade to WebSocket, or a new session of an HTTP transport.
            case connectionRequested(Request)
            /// The server accepted the upgrade or opened the session.
            case connectionAccepted
            /// The connection failed because of a fault command.
            case connectionFailed(ConnectionFault)
            /// The server refused the connection with this code, for example 4001.
            case connectionRefused(code: Int, message: String)
            /// The client or the server closed the TCP connection or the session. This is the last record of every
            /// connection.
            case connectionEnded

            /// A text message arrived, valid or not.
            case messageReceived(String)
            /// A binary message arrived.
            case binaryReceived([UInt8])
            /// A WebSocket ping arrived, or a heartbeat over HTTP (an empty array).
            case pingReceived([UInt8])
            /// A WebSocket pong arrived.
            case pongReceived([UInt8])
            /// The client sent a close frame, first or as an answer. The code is nil if the frame has no code.
            case closeReceived(code: Int?, reason: String)

            /// A request of an HTTP transport failed because of a fault command.
            case transportRequestFailed(TransportRequestFault)
            /// The server dropped a session of an HTTP transport, because of a command or because too many bytes
            /// waited.
            case sessionLost

            /// The server sent a text message. Over HTTP, it put the message into the session's queue. If
            /// ``PusherTestServer/delayMessages(by:)`` delays a message, the server adds the record when it sends the
            /// message.
            case messageSent(String)
            /// The server sent a close frame, first or as an answer.
            case closeSent(code: Int?, reason: String)

            /// The REST API or ``PusherTestServer/publish(event:data:to:excluding:)`` published an event to a channel.
            /// The event went to this many connections. If the number is 0, there were no subscribers, or only silent
            /// and excluded connections.
            case eventPublished(name: String, channel: String, connectionCount: Int)

            /// The server subscribed a connection to a channel.
            case subscribed(channel: String)
            /// A connection unsubscribed from a channel.
            case unsubscribed(channel: String)

            /// The server refused a subscription. The record contains the message even if the dialect does not send it.
            case subscriptionRefused(channel: String, message: String)

            /// The first connection of a user subscribed to a presence channel.
            case memberJoined(channel: String, userID: String)
            /// The last connection of a user left a presence channel.
            case memberLeft(channel: String, userID: String)
            /// A user signed in on a connection.
            case signedIn(userID: String)
            /// The server refused a sign-in.
            case signInRefused(message: String)
            /// The server relayed a client event to the channel's other subscribers, if there are any.
            case clientEventRelayed(name: String, channel: String)
            /// The server rejected a client event with error 4301.
            case clientEventRejected(name: String, channel: String?)

            /// The server rejected a message beyond the limit with error 4301.
            case messageRejected

            /// A request arrived at an authorization endpoint.
            case authorizationRequested(Request)
            /// The authorization request in the preceding record failed because of a fault command.
            case authorizationFailed(AuthorizationFault)
            /// The server answered a request to the REST API or to an authorization endpoint with this status.
            /// Preflights of browsers and refused requests of HTTP transports also have such a record. If the server
            /// answered before the request was complete, the record contains only the part of the body that the server
            /// has kept.
            case requestAnswered(Request, status: Int)

            /// The server is about to send a webhook with this body.
            case webhookIssued(body: String)
            /// A webhook got an answer with this status. After a status other than 2xx, the server repeats the webhook
            /// a few times.
            case webhookAnswered(status: Int)
            /// The server could not send a webhook. The server tries again a few times.
            case webhookFailed(reason: String)
        }
    }

    /// The transport of a connection.
    public enum Transport: Hashable, Sendable, CaseIterable {
        /// A WebSocket.
        case webSocket
        /// HTTP responses that stay open (`xhr_streaming`).
        case httpStreaming
        /// HTTP responses that end after the waiting frames (`xhr`).
        case httpPolling
    }

    /// A connection that is open now.
    public struct Connection: Hashable, Sendable {
        /// The socket id, even if the client has not received it.
        public var socketID: String
        /// The request that opened the connection, with path, query and header fields.
        public var request: Request
        /// The transport of the connection. Over HTTP, the newest receiving request determines the transport.
        public var transport: Transport
        /// The channels to which the connection is subscribed, oldest subscription first.
        public var subscribedChannels: [String]
        /// The user who is signed in on the connection; nil without a sign-in.
        public var userID: String?
        /// Whether the server has sent `pusher:connection_established`.
        public var isEstablished: Bool
        /// Whether ``PusherTestServer/goSilent(_:)`` applies to the connection.
        public var isSilent: Bool
    }
    /// A user on a presence channel.
    public struct Member: Hashable, Sendable {
        /// The user's id. A numeric id is a string here.
        public var userID: String
        /// The user's data as JSON text; nil without data.
        public var userInfo: String?
    }
}
