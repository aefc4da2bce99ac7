import PusherProtocol

extension PusherServerAPI {
    /// The state of a channel. Attributes that were not requested, or that the server does not have, are `nil`.
    public struct ChannelState: Hashable, Sendable {
        /// Whether there is a subscriber. Answers about one channel contain it. Answers about several channels list only
        /// occupied ones.
        public var isOccupied: Bool?
        /// How many users are on the channel: see ``ChannelInfo/userCount``.
        public var userCount: Int?
        /// How many connections have subscribed: see ``ChannelInfo/subscriptionCount``.
        public var subscriptionCount: Int?
        /// The last event of a cache channel: see ``ChannelInfo/cache``. It is also `nil` without such an event.
        public var cachedEvent: CachedEvent?

        /// Makes a state, for tests.
        public init(
            isOccupied: Bool? = nil,
            userCount: Int? = nil,
            subscriptionCount: Int? = nil,
            cachedEvent: CachedEvent? = nil
        ) {
            self.isOccupied = isOccupied
            self.userCount = userCount
            self.subscriptionCount = subscriptionCount
            self.cachedEvent = cachedEvent
        }

        /// Servers in PHP write an empty object as an empty array.
        init(_ value: JSONValue?) {
            if case .bool(let isOccupied)? = value?["occupied"] { self.isOccupied = isOccupied }
            userCount = value?["user_count"]?.integer
            subscriptionCount = value?["subscription_count"]?.integer
            if let cache = value?["cache"], let data = cache["data"]?.string {
                cachedEvent = CachedEvent(data: data, timeToLive: cache["ttl"]?.integer.map { .seconds($0) })
            }
        }
    }

    /// The last event of a cache channel.
    public struct CachedEvent: Hashable, Sendable {
        /// The event's data.
        public var data: String
        /// How long the server keeps it; `nil` if the server does not say.
        public var timeToLive: Duration?

        /// Makes an event, for tests.
        public init(data: String, timeToLive: Duration? = nil) {
            self.data = data
            self.timeToLive = timeToLive
        }
    }
}
