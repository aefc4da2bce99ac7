extension PusherTestServer {
    /// The form of a server's messages. Servers of this protocol differ, and a client has to support all of them.
    ///
    /// Use one of the presets, such as ``pusher`` or ``soketi``, and change what you need.
    public struct Dialect: Hashable, Sendable {
        /// How an empty `data` is written.
        public enum EmptyData: Hashable, Sendable, CaseIterable {
            /// There is no `data`.
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

        /// How the `data` of a message is written if it is not empty.
        public enum DataEncoding: Hashable, Sendable, CaseIterable {
            /// `"data":{…}`
            case object
            /// `"data":"{…}"`, the JSON text as a string.
            case string
        }

        /// How the `data` of `pusher:error` is written.
        public enum ErrorEncoding: Hashable, Sendable, CaseIterable {
            /// `"data":{"code":4001,…}`
            case object
            /// `"data":"{\"code\":4001,…}"`
            case string
        }

        /// How an error without a code is written.
        public enum MissingCode: Hashable, Sendable, CaseIterable {
            /// `"code":null`
            case null
            /// There is no `code`.
            case absent
        }

        /// How the server ends a connection that it refuses to serve.
        public enum Refusal: Hashable, Sendable, CaseIterable {
            /// A close frame with the code.
            case close
            /// `pusher:error` with the code, then a close frame with it.
            case errorThenClose
            /// `pusher:error` with the code, then a close frame without one.
            case errorThenEmptyClose
            /// `pusher:error` with the code, then the end of TCP without a close frame.
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

        /// How a subscription is refused.
        public enum SubscriptionRefusal: Hashable, Sendable, CaseIterable {
            /// `pusher:error` without a code; only the message contains the channel's name.
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

        /// How long a client may be silent, and what happens to its connection then.
        public struct IdleLimit: Hashable, Sendable {
            /// What happens to the connection.
            public enum Ending: Hashable, Sendable {
                /// A close frame; nil sends one without a code.
                case close(code: Int?, reason: String = "")
                /// The end of TCP without a close frame.
                case drop
            }

            /// How long a client may be silent. Any WebSocket frame counts.
            public var duration: Duration
            /// What happens to the connection.
            public var ending: Ending

            /// Makes a limit. By default the connection is dropped.
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
        /// How errors without a code are written. Default: `null`.
        public var missingCode = MissingCode.null
        /// Whether any key is accepted, not only the application's. Default: false.
        public var acceptsAnyKey = false
        /// How a connection is refused before it is established, for example for an unknown key. Default: by an error
        /// and a close frame, because clients of older protocols read the code only from the error.
        public var refusal = Refusal.errorThenClose
        /// How an established connection is ended, for example if its user is terminated, or if it does not answer a
        /// ping. Default: by a close frame.
        public var termination = Refusal.close
        /// The answer to a second subscription. Default: an error.
        public var duplicateSubscription = DuplicateSubscription.error
        /// Whether unsubscribing from a channel without a subscription is answered with `pusher:error`. Default: true.
        public var reportsUnknownUnsubscription = true
        /// How subscriptions are refused. Default: by `pusher:error`.
        public var subscriptionRefusal = SubscriptionRefusal.error
        /// The code of the error that answers an invalid message. Default: nil.
        public var invalidMessageCode: Int?
        /// The message of that error; nil if it describes the problem. Default: nil.
        public var invalidMessage: String?
        /// Characters that are escaped unnecessarily. Default: none.
        public var escaping = Escaping.none
        /// Whether a newline follows each message. Default: false.
        public var appendsNewline = false
        /// How long a client may be silent, whatever the server's `activity_timeout` is. Default: nil, no limit. To
        /// change it on a running server, use ``PusherTestServer/PusherTestServer/setIdleLimit(_:)``.
        public var idleLimit: IdleLimit?

        /// Messages about the users on presence channels.
        public var presence = Presence()
        /// The messages to new subscribers of cache channels.
        public var cache = Cache()
        /// How client events are relayed.
        public var clientEvents = ClientEvents()
        /// Signing in.
        public var users = Users()

        /// Pusher's dialect.
        public init() {}
    }
}
