/// Users of the watchlist came online or went offline.
public struct WatchlistEvent: Hashable, Sendable {
    /// `online` or `offline`. A later version of the protocol may have more.
    public let name: String
    /// The users.
    public let userIds: [String]

    /// Makes an event, for tests of code that handles it.
    public init(name: String, userIds: [String]) {
        self.name = name
        self.userIds = userIds
    }
}
