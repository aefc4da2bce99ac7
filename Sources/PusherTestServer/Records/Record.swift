extension PusherTestServer {
    /// An event that the server received or caused.
    public struct Record: Hashable, Sendable {
        /// The record's place in the log, counted from 0 over the server's whole life.
        public var index: Int
        /// The socket id of the connection that it is about; nil for HTTP requests and webhooks.
        public var socketID: String?
        /// What happened.
        public var event: Event

        /// What happened. Later versions may add cases: keep a `default` when you switch over it.
        public enum Event: Hashable, Sendable {
            /// A client asked for an upgrade to WebSocket, or for a new session of an HTTP transport.
            case connectionRequested(Request)
            /// The upgrade was answered with success, or the session was opened.
            case connectionAccepted
            /// The connection failed because of a fault command.
            case connectionFailed(ConnectionFault)
            /// The connection was refused with this code, for example 4001.
            case connectionRefused(code: Int, message: String)
            /// TCP has ended, from whichever side, or the session has. The last record of every connection.
            case connectionEnded

            /// A text message arrived, whatever it contains.
            case messageReceived(String)
            /// A binary message arrived.
            case binaryReceived([UInt8])
            /// A WebSocket ping arrived, or over HTTP a heartbeat: an empty array.
            case pingReceived([UInt8])
            /// A WebSocket pong arrived.
            case pongReceived([UInt8])
            /// The client sent a close frame, first or as an answer; the code is nil if the frame has none.
            case closeReceived(code: Int?, reason: String)

            /// The request of an HTTP transport failed because of a fault command.
            case transportRequestFailed(TransportRequestFault)
            /// A session of an HTTP transport was lost, because of a command or because too many bytes waited in it.
            case sessionLost

            /// A text message went out; over HTTP, into the queue of its session. Messages that
            /// ``PusherTestServer/delayMessages(by:)`` holds back are recorded when they go out.
            case messageSent(String)
            /// A close frame went out, first or as an answer.
            case closeSent(code: Int?, reason: String)

            /// An event was published to a channel, by the REST API or by
            /// ``PusherTestServer/publish(event:data:to:excluding:)``, and went to this many connections. If it is 0,
            /// there were no subscribers, or only silent and excluded connections.
            case eventPublished(name: String, channel: String, connectionCount: Int)

            /// A connection was subscribed to a channel.
            case subscribed(channel: String)
            /// A connection left a channel by `pusher:unsubscribe`.
            case unsubscribed(channel: String)

            /// A subscription was rejected, with the message, even if the dialect does not send it.
            case subscriptionRefused(channel: String, message: String)

            /// A user came to a presence channel, by the first of the user's connections.
            case memberJoined(channel: String, userId: String)
            /// A user left a presence channel, by the last of the user's connections.
            case memberLeft(channel: String, userId: String)
            /// A user signed in on a connection.
            case signedIn(userId: String)
            /// A sign-in was refused.
            case signInRefused(message: String)
            /// A client event was passed on to the channel's other subscribers, even if there are none.
            case clientEventRelayed(name: String, channel: String)
            /// A client event was not passed on, and answered with error 4301.
            case clientEventRejected(name: String, channel: String?)

            /// A message beyond the limit was answered with error 4301, and had no other effect.
            case messageRejected

            /// A request arrived at an authorization endpoint.
            case authorizationRequested(Request)
            /// The authorization request in the preceding record failed because of a fault command.
            case authorizationFailed(AuthorizationFault)
            /// A request to the REST API or to an authorization endpoint was answered with this status. This includes
            /// preflights of browsers, and requests that were answered before they were complete, with the part of the
            /// body that was kept.
            case requestAnswered(Request, status: Int)

            /// A webhook was about to be sent, with this body.
            case webhookIssued(body: String)
            /// A webhook was answered with this status. After a status other than 2xx the server sends it again, a few
            /// times.
            case webhookAnswered(status: Int)
            /// A webhook could not be sent. The server tries again, a few times.
            case webhookFailed(reason: String)
        }
    }

    /// The transport of a connection.
    public enum Transport: Hashable, Sendable, CaseIterable {
        /// A WebSocket.
        case webSocket
        /// HTTP responses that stay open (`xhr_streaming`).
        case httpStreaming
        /// HTTP responses that end after each frame (`xhr`).
        case httpPolling
    }

    /// A connection that is open now.
    public struct Connection: Hashable, Sendable {
        /// The socket id, even if the client has not received it.
        public var socketID: String
        /// The request that opened it: path, query, header fields.
        public var request: Request
        /// What carries it. Over HTTP: the kind of the newest receiving request.
        public var transport: Transport
        /// The channels that it is subscribed to, oldest subscription first.
        public var subscribedChannels: [String]
        /// The user who has signed in on it; nil without a sign-in.
        public var userId: String?
        /// Whether `pusher:connection_established` was sent.
        public var isEstablished: Bool
        /// Whether ``PusherTestServer/goSilent(_:)`` applies to it.
        public var isSilent: Bool
    }
    /// A user on a presence channel.
    public struct Member: Hashable, Sendable {
        /// The user's id; numbers are written as strings.
        public var userId: String
        /// The user's data as JSON text, if there are any.
        public var userInfo: String?
    }
}
