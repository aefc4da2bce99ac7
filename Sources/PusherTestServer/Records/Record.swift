extension PusherTestServer {
    /// One thing that the server received or did.
    public struct Record: Hashable, Sendable {
        /// The record's place in the log, counted from 0 over the server's whole life.
        public var index: Int
        /// The socket id of the connection that it is about; nil for HTTP requests and webhooks.
        public var socketID: String?
        /// What happened.
        public var event: Event

        /// What happened. New cases may come: keep a `default` when you switch over it.
        public enum Event: Hashable, Sendable {
            /// A client asked for an upgrade to WebSocket, or for a new session of an HTTP transport.
            case connectionRequested(Request)
            /// The upgrade was answered with success, or the session was opened.
            case connectionAccepted
            /// The connection failed as a fault command asked.
            case connectionFailed(ConnectionFault)
            /// The connection was refused with this code, for example 4001.
            case connectionRefused(code: Int, message: String)
            /// TCP has ended, from whichever side, or the session has. The last record of every connection.
            case connectionEnded

            /// A text message came in, whatever is in it.
            case messageReceived(String)
            /// A binary message came in.
            case binaryReceived([UInt8])
            /// A WebSocket ping came in, or over HTTP a heartbeat: an empty array.
            case pingReceived([UInt8])
            /// A WebSocket pong came in.
            case pongReceived([UInt8])
            /// The client sent a close frame, first or in answer; the code is nil if the frame has none.
            case closeReceived(code: Int?, reason: String)

            /// A fault that was asked for befell the request of an HTTP transport.
            case transportRequestFailed(TransportRequestFault)
            /// A session of an HTTP transport was lost: because it was asked for, or because too much waited in it.
            case sessionLost

            /// A text message went out; over HTTP, into the queue of its session. Messages that
            /// ``PusherTestServer/delayMessages(by:)`` holds back are recorded when they go out.
            case messageSent(String)
            /// A close frame went out, first or in answer.
            case closeSent(code: Int?, reason: String)

            /// An event was published to a channel, by the REST API or by ``PusherTestServer/publish(event:data:to:excluding:)``,
            /// and went to this many connections. If it is 0, nobody was subscribed, or only silent and excluded connections.
            case eventPublished(name: String, channel: String, connectionCount: Int)

            /// A connection was subscribed to a channel.
            case subscribed(channel: String)
            /// A connection left a channel by `pusher:unsubscribe`.
            case unsubscribed(channel: String)

            /// A subscription was refused; the message even if the dialect does not tell it.
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

            /// A request came to an authorization endpoint.
            case authorizationRequested(Request)
            /// The request before it, to an authorization endpoint, failed as a fault command asked.
            case authorizationFailed(AuthorizationFault)
            /// A request to the REST API or to an authorization endpoint was answered with this status: also a preflight of a
            /// browser, and a request that was answered before it had come to its end, with as much of its body as was kept.
            case requestAnswered(Request, status: Int)

            /// A webhook was about to be sent, with this body.
            case webhookIssued(body: String)
            /// A webhook was answered with this status. After one that is not 2xx it is sent again, a few times.
            case webhookAnswered(status: Int)
            /// A webhook could not be sent. It is tried again, a few times.
            case webhookFailed(reason: String)
        }
    }

    /// What carries a connection.
    public enum Transport: Hashable, Sendable, CaseIterable {
        /// A WebSocket.
        case webSocket
        /// Responses of HTTP that stay open (`xhr_streaming`).
        case httpStreaming
        /// Responses of HTTP that end after each frame (`xhr`).
        case httpPolling
    }

    /// A connection that is open now.
    public struct Connection: Hashable, Sendable {
        /// The socket id, even if the client has not got it.
        public var socketID: String
        /// The request that opened it: path, query, header fields.
        public var request: Request
        /// What carries it. Over HTTP: what the newest receiving request was.
        public var transport: Transport
        /// The channels that it is subscribed to, oldest subscription first.
        public var subscribedChannels: [String]
        /// The user who has signed in on it; nil without a sign-in.
        public var userId: String?
        /// Whether `pusher:connection_established` was sent.
        public var isEstablished: Bool
        /// Whether ``PusherTestServer/goSilent(_:)`` is in force for it.
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
