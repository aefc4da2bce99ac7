extension PusherTestServer {
    /// The form of a server's messages. Servers of this protocol differ, and a client has to support all of them.
    ///
    /// Use one of the presets, such as ``pusher`` or ``soketi``, and change single properties.
    public struct Dialect: Hashable, Sendable {
        /// The forms of an empty `data`.
        public enum EmptyData: Hashable, Sendable, CaseIterable {
            /// The message has no `data`.
            case missing
            /// `"data":{}`
            case object
            /// `"data":"{}"`
            case string
            /// `"data":""`
            case emptyString
            /// `"data":"null"`
            case nullString
        }

        /// The forms of a `data` that is not empty.
        public enum DataEncoding: Hashable, Sendable, CaseIterable {
            /// `"data":{…}`
            case object
            /// `"data":"{…}"`, the JSON text as a string.
            case string
        }

        /// The forms of the `data` of `pusher:error`.
        public enum ErrorEncoding: Hashable, Sendable, CaseIterable {
            /// `"data":{"code":4001,…}`
            case object
            /// `"data":"{\"code\":4001,…}"`
            case string
        }

        /// The forms of an error without a code.
        public enum MissingCode: Hashable, Sendable, CaseIterable {
            /// `"code":null`
            case null
            /// The error has no `code`.
            case absent
        }

        /// The ways to close a connection that the server refuses or ends.
        public enum Refusal: Hashable, Sendable, CaseIterable {
            /// A close frame with the code.
            case close
            /// `pusher:error` with the code, then a close frame with the same code.
            case errorThenClose
            /// `pusher:error` with the code, then a close frame without a code.
            case errorThenEmptyClose
            /// `pusher:error` with the code. Then the server closes the TCP connection without a close frame.
            case errorThenDrop
        }

        /// The answer to a second subscription to the same channel.
        public enum DuplicateSubscription: Hashable, Sendable, CaseIterable {
            /// `pusher:error`: "Existing subscription to channel …".
            case error
            /// `pusher_internal:subscription_succeeded` again.
            case success
            /// No answer.
            case nothing
        }

        /// The answers to a refused subscription.
        public enum SubscriptionRefusal: Hashable, Sendable, CaseIterable {
            /// `pusher:error` without a code. Only the message contains the channel's name.
            case error
            /// `pusher:error` 4009 "Connection is unauthorized", which does not name the channel.
            case unauthorized
            /// `pusher:subscription_error` on the channel, with `type`, `error` and `status`.
            case subscriptionError
            /// `pusher_internal:subscription_error` on the channel, with `"data":"{}"`.
            case internalSubscriptionError
        }

        /// Characters that the server escapes although JSON does not require it.
        public enum Escaping: Hashable, Sendable, CaseIterable {
            /// Only the escapes that JSON requires.
            case none
            /// `/` as `\/`.
            case slashes
            /// `<` and `>` as `\u003c` and `\u003e`.
            case angleBrackets
        }

        /// A limit for the silence of a client, and the effect of a longer silence.
        public struct IdleLimit: Hashable, Sendable {
            /// The way in which the server ends the connection.
            public enum Ending: Hashable, Sendable {
                /// A close frame. If the code is nil, the frame has no code.
                case close(code: Int?, reason: String = "")
                /// The server closes the TCP connection without a close frame.
                case drop
            }

            /// The longest allowed time without a frame from the client. WebSocket frames of every kind count.
            public var duration: Duration
            /// The way in which the server ends the connection.
            public var ending: Ending

            /// Creates a limit. By default, the server drops the connection.
            public init(_ duration: Duration, ending: Ending = .drop) {
                self.duration = duration
                self.ending = ending
            }
        }

        /// The `data` of `pusher_internal:subscription_succeeded` on channels without members. Default: a string.
        public var subscriptionSucceededData = EmptyData.string
        /// The `data` of the server's `pusher:ping`. Default: a string.
        public var pingData = EmptyData.string
        /// The `data` of `pusher:pong`. Default: a string.
        public var pongData = EmptyData.string
        /// The `data` of `pusher:error`. Default: an object.
        public var errorEncoding = ErrorEncoding.object
        /// The form of errors without a code. Default: `null`.
        public var missingCode = MissingCode.null
        /// Whether the server accepts any key, not only the application's key. Default: false.
        public var acceptsAnyKey = false
        /// The way to refuse a connection before it is established, for example because of an unknown key. Default: an
        /// error and a close frame, because clients of older protocols read the code only from the error.
        public var refusal = Refusal.errorThenClose
        /// The way to end an established connection, for example if its client does not answer a ping. Default: a close
        /// frame.
        public var termination = Refusal.close
        /// The answer to a second subscription. Default: an error.
        public var duplicateSubscription = DuplicateSubscription.error
        /// Whether the server answers with `pusher:error` if a client unsubscribes from a channel without a
        /// subscription. Default: true.
        public var reportsUnknownUnsubscription = true
        /// The answer to a refused subscription. Default: `pusher:error`.
        public var subscriptionRefusal = SubscriptionRefusal.error
        /// The code of the error that answers an invalid message. Default: nil.
        public var invalidMessageCode: Int?
        /// The message of the error that answers an invalid message. If nil, the default, the message describes the
        /// problem.
        public var invalidMessage: String?
        /// The characters that the server escapes unnecessarily. Default: none.
        public var escaping = Escaping.none
        /// Whether a newline follows each message. Default: false.
        public var appendsNewline = false
        /// The limit for a client's silence. The server's `activity_timeout` does not affect it. Default: nil, for no
        /// limit. To change the limit on a running server, use ``PusherTestServer/PusherTestServer/setIdleLimit(_:)``.
        public var idleLimit: IdleLimit?

        /// Messages about the users on presence channels.
        public var presence = Presence()
        /// The messages to new subscribers of cache channels.
        public var cache = Cache()
        /// The rules for relaying client events.
        public var clientEvents = ClientEvents()
        /// The answers to sign-ins, and the messages about watchlists.
        public var users = Users()

        /// Creates Pusher's dialect.
        public init() {}
    }
}
