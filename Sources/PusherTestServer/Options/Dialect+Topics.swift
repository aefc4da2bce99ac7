extension PusherTestServer.Dialect {
    /// Messages about the users on presence channels.
    public struct Presence: Hashable, Sendable {
        /// How `hash` is written.
        public enum Hash: Hashable, Sendable, CaseIterable {
            /// Always an object.
            case object
            /// A list if the users' ids are 0, 1, 2 and so on, or if there is no user, as PHP does it.
            case listWhereCounted
        }

        /// How `hash` contains a user without `user_info`.
        public enum MissingInfo: Hashable, Sendable, CaseIterable {
            /// `null`
            case null
            /// `{}`
            case object
        }

        /// How a user with several connections is counted.
        public enum SharedUser: Hashable, Sendable, CaseIterable {
            /// The user is counted and announced once.
            case counted
            /// The id appears in `ids`, and is counted, once for each connection.
            case listedTwice
            /// Each connection is announced with a `member_added`, and each end with a `member_removed`.
            case announcedAgain
        }

        /// Whether ids that the authorization has as numbers stay numbers. Default: false, they become strings.
        public var keepsNumericIDs = false
        /// How `hash` is written. Default: an object.
        public var hash = Hash.object
        /// How `hash` contains a user without `user_info`. Default: `null`.
        public var missingInfo = MissingInfo.null
        /// Whether there are `ids`. Default: true.
        public var listsIDs = true
        /// How a user with several connections is counted. Default: counted and announced once.
        public var sharedUser = SharedUser.counted
        /// Whether the success is sent before the new user is counted. The user then gets a `member_added` about
        /// itself. Default: false.
        public var succeedsBeforeJoining = false
        /// How the `data` of `member_added` and `member_removed` is written. Default: a string.
        public var memberEvents = DataEncoding.string
        /// Whether a subscription with a numeric user id in its authorization gets `pusher:error` 4200 "Generic
        /// reconnect immediately". Default: false.
        public var refusesNumericIDs = false
        /// Whether `member_removed` has the `user_info`. Default: false.
        public var tellsInfoOfLeavers = false

        /// Creates Pusher's form.
        public init() {}
    }

    /// The messages to new subscribers of cache channels.
    public struct Cache: Hashable, Sendable {
        /// On which cache channels the last event is kept.
        public enum Replay: Hashable, Sendable, CaseIterable {
            /// On all.
            case all
            /// On all but the encrypted ones.
            case unencryptedChannels
            /// On channels that need no authorization.
            case publicChannels
            /// On none, because the server does not support cache channels.
            case none
        }

        /// On which cache channels the last event is kept. Default: on all.
        public var replay = Replay.all
        /// The `data` of `pusher:cache_miss`. Default: there is none.
        public var missData = EmptyData.missing

        /// Creates Pusher's form.
        public init() {}
    }

    /// How client events are passed on.
    public struct ClientEvents: Hashable, Sendable {
        /// How the `data` is changed.
        public enum Data: Hashable, Sendable, CaseIterable {
            /// It does not change.
            case unchanged
            /// It becomes a string with the JSON text.
            case string
        }

        /// How the `data` is changed. Default: not at all.
        public var data = Data.unchanged
        /// Whether a client event whose data is a string is answered as an invalid message. Default: false.
        public var refusesStrings = false
        /// Whether client events on presence channels have a `user_id`. Default: true.
        public var addsUserID = true
        /// Whether the error about a rejected client event has a `channel`. Default: false.
        public var errorsNameChannel = false

        /// Creates Pusher's form.
        public init() {}
    }

    /// Signing in.
    public struct Users: Hashable, Sendable {
        /// The answer to a failed sign-in.
        public enum SignInRefusal: Hashable, Sendable, CaseIterable {
            /// `pusher:error` without a code.
            case error
            /// The end of the connection with code 4009.
            case close
        }

        /// Whether `pusher:signin` is supported. If not, it is handled like any unknown event. Default: true.
        public var knowsSignIn = true
        /// How the `data` of `pusher:signin_success` is written. Default: an object.
        public var signInSuccess = DataEncoding.object
        /// Whether the success repeats `auth`. Default: false.
        public var echoesAuth = false
        /// The answer to a failed sign-in. Default: `pusher:error`.
        public var signInRefusal = SignInRefusal.error
        /// Whether watchlists are supported. Default: true.
        public var sendsWatchlistEvents = true
        /// How the `data` of `pusher_internal:watchlist_events` is written. Default: a string.
        public var watchlistEvents = DataEncoding.string

        /// Creates Pusher's form.
        public init() {}
    }
}
