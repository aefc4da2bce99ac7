import PusherProtocol

extension PusherServerAPI {
    /// The state of a channel. An attribute is `nil` if you have not requested it, or if the server does not return it.
    public struct ChannelState: Hashable, Sendable {
        /// Whether the channel has a subscriber. Answers about one channel contain this attribute. Answers about
        /// several channels list only channels with subscribers.
        public var isOccupied: Bool?
        /// The number of users on the channel; see ``ChannelInfo/userCount``.
        public var userCount: Int?
        /// The number of subscribed connections; see ``ChannelInfo/subscriptionCount``.
        public var subscriptionCount: Int?
        /// The last event of a cache channel; see ``ChannelInfo/cache``. `nil` can also mean that the channel has no
        /// such event.
        public var cachedEvent: CachedEvent?

        /// Creates a state, for tests.
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

        /// Reads a state. Servers in PHP write an empty object as an empty array.
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
        /// The time for which the server keeps the event; `nil` if the server does not return this time.
        public var timeToLive: Duration?

        /// Creates an event, for tests.
        public init(data: String, timeToLive: Duration? = nil) {
            self.data = data
            self.timeToLive = timeToLive
        }
    }
}
