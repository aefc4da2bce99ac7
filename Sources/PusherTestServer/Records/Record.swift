extension PusherTestServer {
    /// One thing that the server received or did.
    public struct Record: Hashable, Sendable {
        /// The record's place in the log, counted from 0 over the server's whole life.
        public var index: Int
        /// The socket id of the connection that it is about; nil for requests to the REST API.
        public var socketID: String?
        /// What happened.
        public var event: Event

        /// What happened. New cases may come: keep a `default` when you switch over it.
        public enum Event: Hashable, Sendable {
            /// A client asked for an upgrade to WebSocket.
            case connectionRequested(Request)
            /// The upgrade was answered with success.
            case connectionAccepted
            /// A fault that was asked for befell the connection.
            case connectionFailed(ConnectionFault)
            /// The connection was refused with this code, for example 4001.
            case connectionRefused(code: Int, message: String)
            /// TCP has ended, from whichever side. The last record of every connection.
            case connectionEnded

            /// A text message came in, whatever is in it.
            case messageReceived(String)
            /// A binary message came in.
            case binaryReceived([UInt8])
            /// A WebSocket ping came in.
            case pingReceived([UInt8])
            /// A WebSocket pong came in.
            case pongReceived([UInt8])
            /// The client sent a close frame, first or in answer; the code is nil where the frame has none.
            case closeReceived(code: Int?, reason: String)

            /// A text message went out. Messages that ``PusherTestServer/delayMessages(by:)`` holds back are recorded
            /// when they go out.
            case messageSent(String)
            /// A close frame went out, first or in answer.
            case closeSent(code: Int?, reason: String)

            /// A connection was subscribed to a channel.
            case subscribed(channel: String)
            /// A connection left a channel by `pusher:unsubscribe`.
            case unsubscribed(channel: String)

            /// A request to the REST API was answered with this status.
            case requestAnswered(Request, status: Int)
        }
    }

    /// A connection that is open now.
    public struct Connection: Hashable, Sendable {
        /// The socket id, also where the client has not been told it.
        public var socketID: String
        /// The request that opened it: path, query, header fields.
        public var request: Request
        /// The channels that it is subscribed to, oldest subscription first.
        public var subscribedChannels: [String]
        /// Whether `pusher:connection_established` was sent.
        public var isEstablished: Bool
        /// Whether ``PusherTestServer/goSilent(_:)`` is in force for it.
        public var isSilent: Bool
    }
}
