extension PusherTestServer.Dialect {
    /// Messages about the users on presence channels.
    public struct Presence: Hashable, Sendable {
        /// The forms of the field `hash`.
        public enum Hash: Hashable, Sendable, CaseIterable {
            /// Always an object.
            case object
            /// A list if the users' ids are 0, 1, 2 and so on, or if there is no user, as in PHP.
            case listWhereCounted
        }

        /// The value in `hash` for a user without `user_info`.
        public enum MissingInfo: Hashable, Sendable, CaseIterable {
            /// `null`
            case null
            /// `{}`
            case object
        }

        /// The ways to count and announce a user who has several connections.
        public enum SharedUser: Hashable, Sendable, CaseIterable {
            /// The server counts and announces the user once.
            case counted
            /// The server lists and counts the user's id once for each connection.
            case listedTwice
            /// The server sends `member_added` for each connection of the user that subscribes, and `member_removed`
            /// for each connection that leaves.
            case announcedAgain
        }

        /// Whether numeric ids in the authorization stay numbers. If false, the default, they become strings.
        public var keepsNumericIDs = false
        /// The form of `hash`. Default: an object.
        public var hash = Hash.object
        /// The value in `hash` for a user without `user_info`. Default: `null`.
        public var missingInfo = MissingInfo.null
        /// Whether the message contains `ids`. Default: true.
        public var listsIDs = true
        /// The way in which the server counts and announces a user who has several connections. Default: the server
        /// counts and announces the user once.
        public var sharedUser = SharedUser.counted
        /// Whether the server confirms the subscription before it counts the new user. If true, the new user also gets
        /// the `member_added` about themselves. Default: false.
        public var succeedsBeforeJoining = false
        /// The form of the `data` of `member_added` and `member_removed`. Default: a string.
        public var memberEvents = DataEncoding.string
        /// Whether a subscription with a numeric user id in its authorization gets `pusher:error` 4200 "Generic
        /// reconnect immediately". Default: false.
        public var refusesNumericIDs = false
        /// Whether `member_removed` contains the `user_info`. Default: false.
        public var tellsInfoOfLeavers = false

        /// Creates the options of Pusher's dialect.
        public init() {}
    }

    /// The messages to new subscribers of cache channels.
    public struct Cache: Hashable, Sendable {
        /// The cache channels whose new subscribers get the last event.
        public enum Replay: Hashable, Sendable, CaseIterable {
            /// All cache channels.
            case all
            /// The cache channels that are not encrypted.
            case unencryptedChannels
            /// The cache channels that need no authorization.
            case publicChannels
            /// No channel, because the server does not support cache channels.
            case none
        }

        /// The cache channels whose new subscribers get the last event, or `pusher:cache_miss`. Default: all.
        public var replay = Replay.all
        /// The `data` of `pusher:cache_miss`. Default: no `data`.
        public var missData = EmptyData.missing

        /// Creates the options of Pusher's dialect.
        public init() {}
    }

    /// The rules for relaying client events.
    public struct ClientEvents: Hashable, Sendable {
        /// The changes that a server makes to the `data` of a client event.
        public enum Data: Hashable, Sendable, CaseIterable {
            /// The `data` does not change.
            case unchanged
            /// The `data` becomes a string with the JSON text.
            case string
        }

        /// The change that the server makes to the `data` of a client event. Default: it becomes a string, as Pusher's
        /// documentation has it.
        public var data = Data.string
        /// Whether the server rejects client events whose data is a string, with the error for invalid messages.
        /// Default: false.
        public var refusesStrings = false
        /// Whether client events on presence channels contain a `user_id`. Default: true.
        public var addsUserID = true
        /// Whether the error about a rejected client event contains a `channel`. Default: false.
        public var errorsNameChannel = false

        /// Creates the options of Pusher's dialect.
        public init() {}
    }

    /// The answers to sign-ins, and the messages about watchlists.
    public struct Users: Hashable, Sendable {
        /// The answer to a failed sign-in.
        public enum SignInRefusal: Hashable, Sendable, CaseIterable {
            /// `pusher:error` without a code.
            case error
            /// The server ends the connection with code 4009, in the way that `termination` determines.
            case close
        }

        /// Whether the server supports `pusher:signin`. If false, the server handles it like any unknown event.
        /// Default: true.
        public var knowsSignIn = true
        /// The form of the `data` of `pusher:signin_success`. Default: an object.
        public var signInSuccess = DataEncoding.object
        /// Whether `pusher:signin_success` repeats `auth`. Default: false.
        public var echoesAuth = false
        /// The answer to a failed sign-in. Default: `pusher:error`.
        public var signInRefusal = SignInRefusal.error
        /// Whether the server supports watchlists. Default: true.
        public var sendsWatchlistEvents = true
        /// The form of the `data` of `pusher_internal:watchlist_events`. Default: a string.
        public var watchlistEvents = DataEncoding.string

        /// Creates the options of Pusher's dialect.
        public init() {}
    }
}
